package alicloud_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
	"github.com/tlsroll/tlsroll/providers/alicloud"
	"github.com/tlsroll/tlsroll/providers/lab"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// newLab starts a lab at 02:00 and returns the monitoring of its primary.
func newLab(t *testing.T, o lab.Options) (*lab.Lab, *alicloud.Monitor) {
	t.Helper()
	o.Clock = plans.Clock{Epoch: time.Now(), Start: night().Start(), Speed: 1}
	l, err := lab.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	labKeys := func(context.Context) (providers.Credentials, error) {
		env := l.Env()
		return providers.Credentials{
			KeyID: providers.NewSecret(env["ALIBABA_CLOUD_ACCESS_KEY_ID"]), Secret: providers.NewSecret(env["ALIBABA_CLOUD_ACCESS_KEY_SECRET"]),
		}, nil
	}
	return l, must(alicloud.NewMonitor(domain, alicloud.Options{Endpoint: l.Endpoints().Alicloud, Credentials: labKeys, Timeout: time.Minute}))(t)
}

// The lab answers a span of more than an hour in coarser points, so that only asks of an hour get minutes: tonight's, and those of six
// days ago.
func TestMinutesOfTheLab(t *testing.T) {
	l, m := newLab(t, lab.Options{World: world.Config{Seed: 5}})
	for name, from := range map[string]guardrails.Minute{"tonight": night() - 160, "six days ago": night() - 6*24*60} {
		to := from + 149
		got, err := m.Fetch(t.Context(), from, to)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var want []guardrails.Row
		l.With(func(now time.Time, w *world.World) { want = w.Minutes(now, world.EdgePrimary, from, to) })
		if diff := cmp.Diff(want, got); diff != "" || len(got) != 150 {
			t.Errorf("%s: %d rows (-want +got):\n%s", name, len(got), diff)
		}
	}
	calls := 0
	for _, c := range l.Calls() {
		if c.API == "cdn:DescribeDomainRealTimeHttpCodeData" {
			calls++
		}
	}
	if calls != 6 {
		t.Errorf("%d calls for two spans of two hours and a half, want 6", calls)
	}
	_, err := m.Fetch(t.Context(), night()-8*24*60, night()-8*24*60+9)
	checkKind(t, err, providers.Invalid)
}

// A span of which one hour fails is no shorter span.
func TestOneHourThatFailsFailsTheWhole(t *testing.T) {
	const api = "cdn:DescribeDomainRealTimeHttpCodeData"
	_, m := newLab(t, lab.Options{Script: []lab.Trouble{{API: api, Kind: lab.Slow, For: time.Millisecond}, {API: api, Kind: lab.Unavailable}}})
	rows, err := m.Fetch(t.Context(), night()-120, night()-31)
	checkKind(t, err, providers.Transient)
	if rows != nil {
		t.Errorf("%d rows beside an error", len(rows))
	}
}
