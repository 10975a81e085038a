package alicloud_test

import (
	"slices"
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/alicloud"
	"github.com/tlsroll/tlsroll/providers/providertest"
)

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestCDNConforms(t *testing.T) {
	providertest.TestTLSSetter(t, func(t *testing.T, timeout time.Duration) providertest.TLSHarness {
		t.Helper()
		c := newCloud(t)
		set := c.cdn.TLS
		set.Enabled = plans.TLSSetOf(plans.TLS12, plans.TLS13)
		return providertest.TLSHarness{
			Side: c.side(), TLS: must(alicloud.NewCDN(domain, c.patient(timeout)))(t),
			Truth:  func() plans.CDNState { c.mu.Lock(); defer c.mu.Unlock(); return c.cdn },
			Writes: []plans.TLSWrite{{Set: &set}, {Delete: set.ConfigID}},
		}
	})
}

func TestDNSConforms(t *testing.T) {
	providertest.TestDNS(t, func(t *testing.T, timeout time.Duration) providertest.DNSHarness {
		t.Helper()
		c := newCloud(t)
		c.dns.Records = append(c.dns.Records,
			plans.Record{ID: "9009123456791", Name: "cdn", Type: "A", Value: "192.0.2.1", Line: "telecom", TTL: time.Hour, Locked: true, Remark: "a weight nobody told"})
		return providertest.DNSHarness{
			Side: c.side(), DNS: must(alicloud.NewDNS("example.com", "cdn", "default", c.patient(timeout)))(t),
			Truth: func() plans.DNSState {
				c.mu.Lock()
				defer c.mu.Unlock()
				s := c.dns
				s.Records = slices.Clone(s.Records)
				return s
			},
			Writes: []plans.DNSWrite{
				{Leg: guardrails.Primary, RecordID: "9009123456789", Action: plans.SetWeight, Weight: 90},
				{Leg: guardrails.Primary, RecordID: "9009123456789", Action: plans.SetWeight, Weight: 0},
				{Leg: guardrails.Primary, RecordID: "9009123456789", Action: plans.DisableRecord},
				{Leg: guardrails.Primary, RecordID: "9009123456791", Action: plans.EnableRecord},
			},
		}
	})
}

func TestMonitorConforms(t *testing.T) {
	providertest.TestMetrics(t, func(t *testing.T, timeout time.Duration) providertest.MetricsHarness {
		t.Helper()
		c := newCloud(t)
		from := guardrails.MinuteOf(time.Date(2021, 6, 24, 18, 0, 0, 0, time.UTC))
		h := providertest.MetricsHarness{
			Side: c.side(), Metrics: must(alicloud.NewMonitor(domain, c.patient(timeout)))(t), From: from, To: from + 149,
		}
		for m := from - 10; m <= h.To+10; m++ {
			if m%7 == 0 {
				continue // the vendor leaves out minutes without a request
			}
			c.codes[m.Start().Format(time.RFC3339)] = [][2]string{{"200", "970"}, {"206", "1e1"}, {"301", "5"}, {"404", "7"}, {"502", "3"}, {"0", "2"}}
			if m >= from && m <= h.To {
				h.Want = append(h.Want, guardrails.Row{Leg: guardrails.Primary, Minute: m, Counts: guardrails.Counts{
					Requests: 997, Status2xx: 980, Status4xx: 7, Status5xx: 3, Has: guardrails.HasRequests | guardrails.HasStatus,
				}})
			}
		}
		return h
	})
}
