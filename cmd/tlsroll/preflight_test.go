package main

import (
	"strings"
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/lab"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// startState is the lab's state with something wrong in it.
func startState(t *testing.T, spoil func(*plans.State)) plans.State {
	t.Helper()
	b := makeBed(t, "tls13-canary.yaml", world.None)
	var s plans.State
	b.lab.With(func(now time.Time, w *world.World) { s = w.State(now) })
	b.lab.Close()
	spoil(&s)
	return s
}

// Design section 15, row 4: what is wrong with the records ends plan and apply with exit 4, says which and how to mend it, and nothing is
// written.
func TestRecordsThatAreNotInOrder(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(*plans.State)
		words []string
	}{
		{"missing", func(s *plans.State) { s.DNS.Records = s.DNS.Records[:1] }, []string{"backup.example.net"}},
		{"extra", func(s *plans.State) {
			extra := s.DNS.Records[0]
			extra.ID, extra.Value = "9009123456999", "somewhere.example.org"
			s.DNS.Records = append(s.DNS.Records, extra)
		}, []string{"9009123456999", "somewhere.example.org"}},
		{"locked", func(s *plans.State) { s.DNS.Records[0].Locked = true }, []string{"9009123456789", "lock"}},
		{"weighting off", func(s *plans.State) { s.DNS.Weighted = false }, []string{"weight"}},
		{"several lines", func(s *plans.State) {
			other := s.DNS.Records[0]
			other.ID, other.Line = "9009123456998", "telecom"
			s.DNS.Records = append(s.DNS.Records, other)
		}, []string{"telecom"}},
		{"disabled with a weight", func(s *plans.State) { s.DNS.Records[0].Enabled = false }, []string{"9009123456789", "disabled"}},
		{"no certificate", func(s *plans.State) { s.Primary.Certificate = false }, []string{"certificate"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := makeBedWith(t, "tls13-canary.yaml", world.Config{State: startState(t, test.spoil)})
			out, code := b.command(t, "plan", b.file)
			if code != exitPrecondition {
				t.Errorf("plan: exit %d\n%s", code, out)
			}
			r := b.run(t, nil)
			if got := exitCode(ended(r)); got != exitPrecondition || r.End.Phase != rollout.Halted {
				t.Errorf("apply: exit %d, %+v", got, *r.End)
			}
			for _, w := range test.words {
				if !strings.Contains(out, w) || !strings.Contains(r.End.Why, w) {
					t.Errorf("%q is not in what plan says:\n%s\nor not in why apply ended:\n%s", w, out, r.End.Why)
				}
			}
			if w := b.writes(time.Time{}); len(w) > 0 {
				t.Errorf("wrote %v", w)
			}
		})
	}
}

// Row 3: keys that are refused, and a permission to write that is missing, end preflight, with the action named; nothing is touched.
func TestCredentialsThatAreRefused(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(*bed)
		words   []string
	}{
		{"wrong key", func(b *bed) { b.io.env = append(b.io.env, envAliKey+"=somebody-else") }, []string{"InvalidAccessKeyId"}},
		{"wrong secret", func(b *bed) { b.io.env = append(b.io.env, envAliSecret+"=somebody-else") }, []string{"SignatureDoesNotMatch"}},
		{"wrong qiniu keys", func(b *bed) { b.io.env = append(b.io.env, envQiniuSecret+"=somebody-else") }, []string{"qiniu", "denied"}},
		{"may read, may not write", func(b *bed) {
			b.lab.Trouble(lab.Trouble{API: "alidns:UpdateDNSSLBWeight", Kind: lab.Denied, Calls: 100})
		}, []string{"alidns:UpdateDNSSLBWeight"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := makeBed(t, "tls13-canary.yaml", world.None)
			before := b.state()
			test.prepare(b)
			r := b.run(t, nil)
			if got := exitCode(ended(r)); got != exitPrecondition {
				t.Errorf("exit %d, %+v", got, *r.End)
			}
			for _, w := range test.words {
				if !strings.Contains(r.End.Why, w) {
					t.Errorf("%q is not in %q", w, r.End.Why)
				}
			}
			for _, secret := range []string{"somebody-else", "lab-secret", "Signature="} {
				if strings.Contains(r.End.Why, secret) || strings.Contains(b.out.String(), secret) {
					t.Errorf("%q leaked: %s", secret, r.End.Why)
				}
			}
			if b.state() != before {
				t.Errorf("touched: %s", b.state())
			}
		})
	}
}

// Row 6: every write meets an API that behaves badly in another way, and the run makes each exactly once.
func TestAnAPIThatBehavesBadly(t *testing.T) {
	doc := dryRunDoc(t, makeBed(t, "tls13-canary.yaml", world.None))
	t.Parallel()
	b := makeBed(t, "tls13-canary.yaml", world.None)
	b.plan.Rehearse = false // it may write its weight as often as it likes; here each write counts
	weight, status, tls := "alidns:UpdateDNSSLBWeight", "alidns:SetDomainRecordStatus", "cdn:BatchSetCdnDomainConfig"
	b.lab.Trouble(
		lab.Trouble{API: weight, Kind: lab.Throttled, Calls: 2},
		lab.Trouble{API: weight, Kind: lab.AppliedUnavailable},
		lab.Trouble{API: weight, Kind: lab.EmptyBody},
		lab.Trouble{API: weight, Kind: lab.CutAfterApplied},
		lab.Trouble{API: weight, Kind: lab.WrongType},
		lab.Trouble{API: weight, Kind: lab.Unavailable, Calls: 2},
		lab.Trouble{API: weight, Kind: lab.HTMLGateway},
		lab.Trouble{API: status, Kind: lab.NoRequestID},
		lab.Trouble{API: status, Kind: lab.StaleReads, For: 5 * time.Second},
		lab.Trouble{API: tls, Kind: lab.AppliedUnavailable},
		lab.Trouble{API: "alidns:DescribeSubDomainRecords", Kind: lab.HTMLPage, Calls: 2},
		lab.Trouble{API: "cdn:DescribeCdnDomainConfigs", Kind: lab.EmptyBody, Calls: 2},
		lab.Trouble{API: "cdn:DescribeDomainRealTimeHttpCodeData", Kind: lab.HTMLGateway, Calls: 2},
		lab.Trouble{API: "prometheus:", Kind: lab.HTMLPage, Calls: 9},
		lab.Trouble{API: "qiniu:", Kind: lab.Unavailable, Calls: 2},
	)
	r := b.run(t, promoter(false))
	if r.End.Phase != rollout.Succeeded {
		t.Fatalf("ended as %+v\n%s", *r.End, b.out)
	}
	applied := map[string][]string{}
	b.lab.With(func(_ time.Time, w *world.World) {
		c, err := connect(b.io, b.plan, b.clock, wiring{})
		if err != nil {
			t.Fatal(err)
		}
		for _, write := range w.Log() {
			text := describe(c, write)
			lever, _, _ := strings.Cut(text, ":")
			applied[lever] = append(applied[lever], text)
		}
	})
	for lever, want := range byLever(doc.Forward) {
		if lever == "alidns" {
			want = want[1:] // the rehearsal
		}
		got := strings.Join(applied[lever], "\n")
		if got != strings.Join(want, "\n") {
			t.Errorf("%s, want\n%s\ngot\n%s", lever, strings.Join(want, "\n"), got)
		}
	}
}
