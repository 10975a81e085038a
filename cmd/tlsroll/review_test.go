package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/cmd/tlsroll/view"
	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/sim"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/plans/examples"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// What plan lists is what apply does: the same API writes with the same parameters in the same order, forward, and back from every step
// that changes something. The two levers are pulled at the same time, so order is compared on each.
func TestPlanListsExactlyTheWritesOfApply(t *testing.T) { //nolint:tparallel // it is, after the dry-runs
	docs := map[string]view.PlanDoc{} // made first, since they compute, and what runs then keeps time
	for _, name := range examples.Names() {
		docs[name] = dryRunDoc(t, makeBed(t, name, world.None))
	}
	t.Parallel()
	for _, name := range examples.Names() {
		doc := docs[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := makeBed(t, name, world.None)
			if len(doc.Refused) > 0 {
				t.Fatalf("preflight would refuse: %v", doc.Refused)
			}
			r := b.run(t, promoter(false))
			if r.End.Phase != rollout.Succeeded {
				t.Fatalf("ended as %+v\n%s", *r.End, b.out)
			}
			if diff := cmp.Diff(byLever(doc.Forward), b.writes(time.Time{})); diff != "" {
				t.Errorf("forward writes mismatch (-plan +apply):\n%s", diff)
			}
		})
		p, _ := plans.Parse(name, []byte(exampleText(t, name)))
		for i, s := range p.Steps {
			if !changes(s) {
				continue
			}
			t.Run(name+" back from "+rollout.StepName(s), func(t *testing.T) {
				t.Parallel()
				back(t, name, i, doc)
			})
		}
	}
}

func exampleText(t testing.TB, name string) string {
	t.Helper()
	text, ok := examples.Source(name)
	if !ok {
		t.Fatalf("no example %s", name)
	}
	return text
}

// back aborts a run at the end of a step and compares its way back with the plan's.
func back(t *testing.T, name string, step int, doc view.PlanDoc) {
	t.Helper()
	b := makeBed(t, name, world.None)
	before := b.state()
	var turned time.Time
	approve := promoter(true)
	r := b.run(t, func(run rollout.Run) rollout.Event {
		if e := approve(run); e != nil {
			return e
		}
		if !turned.IsZero() || !sim.Reached(run, step) {
			return nil
		}
		turned = run.At
		return rollout.AbortOrdered{Actor: "test", Reason: "to see the way back"}
	})
	if r.End.Phase != rollout.RolledBack {
		t.Fatalf("ended as %+v\n%s", *r.End, b.out)
	}
	if after := b.state(); after != before {
		t.Errorf("not restored:\nbefore %s\nafter  %s", before, after)
	}
	var want map[string][]string
	for _, way := range doc.Back {
		if way.From == rollout.StepName(b.plan.Steps[step]) {
			want = byLever(way.Steps)
		}
	}
	if diff := cmp.Diff(want, b.writes(turned)); diff != "" {
		t.Errorf("writes back mismatch (-plan +apply):\n%s", diff)
	}
}

// dryRunDoc runs the plan command against the lab.
func dryRunDoc(t *testing.T, b *bed) view.PlanDoc {
	t.Helper()
	var out, talk strings.Builder
	io := b.io
	io.out, io.err = &out, &talk
	if code := run(t.Context(), []string{"plan", b.file, "-o", "json"}, io); code != exitOK {
		t.Fatalf("plan: exit %d\n%s%s", code, out.String(), talk.String())
	}
	if w := b.writes(time.Time{}); len(w) > 0 {
		t.Fatalf("plan wrote: %v", w)
	}
	var doc view.PlanDoc
	if err := json.Unmarshal([]byte(out.String()), &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func byLever(steps []view.PlanStep) map[string][]string {
	out := map[string][]string{}
	for _, s := range steps {
		for _, w := range s.Writes {
			lever, _, _ := strings.Cut(w, ":")
			out[lever] = append(out[lever], w)
		}
	}
	return out
}
