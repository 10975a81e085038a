package tlsprobe_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/lab"
	"github.com/tlsroll/tlsroll/providers/lab/world"
	"github.com/tlsroll/tlsroll/providers/tlsprobe"
)

// The lab changes TLS on its primary; handshakes prove it on every edge, and that the backup did not move.
func TestHandshakesProveTheChangeInTheLab(t *testing.T) {
	l, err := lab.Start(t.Context(), lab.Options{
		Clock: plans.Clock{Epoch: time.Now(), Start: time.Date(2021, 6, 24, 18, 0, 0, 0, time.UTC), Speed: 60},
		World: world.Config{PrimaryEdges: 3, PropagationTLS: -1},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	e := l.Endpoints()
	p, err := tlsprobe.New(domain, tlsprobe.Options{
		Primary: tlsprobe.Leg{Edges: e.PrimaryEdges, CA: e.CA}, Backup: tlsprobe.Leg{Edges: e.BackupEdges, CA: e.CA}, Timeout: patience,
	})
	if err != nil {
		t.Fatal(err)
	}
	old := plans.TLSSetOf(plans.TLS10, plans.TLS11, plans.TLS12)
	check := func(leg guardrails.Leg, edges []string, accepted plans.TLSSet) {
		t.Helper()
		hs, err := p.Handshake(t.Context(), leg)
		if err != nil {
			t.Fatal(err)
		}
		var want []plans.Handshake
		for _, edge := range edges {
			h := plans.Handshake{Leg: leg, Edge: edge, Accepted: accepted, Probed: allVersions, Version: plans.TLS12, ALPN: "h2", Names: []string{domain}, Issuer: "CN=tlsroll lab CA"}
			if accepted.Has(plans.TLS13) {
				h.Version, h.Sentinel = plans.TLS13, true
			}
			want = append(want, h)
		}
		if diff := cmp.Diff(want, hs, cmpopts.IgnoreFields(plans.Handshake{}, "Connect", "TLS", "Suite", "Group", "NotAfter")); diff != "" {
			t.Errorf("the %v (-want +got):\n%s", leg, diff)
		}
	}
	set := func(enabled plans.TLSSet) {
		t.Helper()
		l.With(func(now time.Time, w *world.World) {
			s := w.State(now).Primary.TLS
			s.Enabled = enabled
			if _, err := w.WriteTLS(now, plans.TLSWrite{Set: &s}); err != nil {
				t.Error(err)
			}
		})
	}
	set(old)
	check(guardrails.Primary, e.PrimaryEdges, old)
	set(old.With(plans.TLS13))
	check(guardrails.Primary, e.PrimaryEdges, old.With(plans.TLS13))
	check(guardrails.Backup, e.BackupEdges, old)
	set(old)
	check(guardrails.Primary, e.PrimaryEdges, old)
}
