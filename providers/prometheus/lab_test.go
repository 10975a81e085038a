package prometheus_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/lab"
	"github.com/tlsroll/tlsroll/providers/lab/world"
	"github.com/tlsroll/tlsroll/providers/prometheus"
)

// The lab's plan asks the lab's Prometheus with its own queries, and gets the lab's minutes.
func TestMinutesOfTheLab(t *testing.T) {
	l, err := lab.Start(t.Context(), lab.Options{
		Clock: plans.Clock{Epoch: time.Now(), Start: first.Start(), Speed: 1}, World: world.Config{Quiet: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	plan, problems := plans.Parse("lab.yaml", []byte(l.PlanSource()))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	i := slices.IndexFunc(plan.Sources, func(s plans.Source) bool { return s.Type == "prometheus" })
	if i < 0 {
		t.Fatal("the lab's plan has no source of type prometheus")
	}
	if plan.Sources[i].URL != l.Endpoints().Prometheus {
		t.Errorf("url %s, want %s", plan.Sources[i].URL, l.Endpoints().Prometheus)
	}
	from, to := first-60, first-31
	got, err := open(t, plan.Sources[i], prometheus.Options{}).Fetch(t.Context(), from, to)
	if err != nil {
		t.Fatal(err)
	}
	var want []guardrails.Row
	l.With(func(now time.Time, w *world.World) { want = w.Minutes(now, world.RUM, from, to) })
	slices.SortFunc(want, func(a, b guardrails.Row) int {
		return cmp.Or(cmp.Compare(a.Platform, b.Platform), cmp.Compare(a.Leg, b.Leg), cmp.Compare(a.Minute, b.Minute))
	})
	if diff := gocmp.Diff(want, got); diff != "" || len(got) != 30*4 {
		t.Errorf("%d rows (-want +got):\n%s", len(got), diff)
	}
}
