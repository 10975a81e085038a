package guardrails

import (
	"testing"

	"pgregory.net/rapid"
)

// What isChecked lets pass must be what checked leaves alone: rows that were resolved are recognised by it.
func TestARowThatIsCheckedIsLeftAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]float64{0, 1, 2, 3, -1, 1e15, 2e15})
		r := Row{Counts: Counts{
			Requests: n.Draw(t, "requests"), Errors: n.Draw(t, "errors"), TotalMS: n.Draw(t, "ms"), TLS: n.Draw(t, "tls"), TLS13: n.Draw(t, "tls13"),
			Status2xx: n.Draw(t, "2xx"), Has: Field(rapid.IntRange(0, 1<<9-1).Draw(t, "has")),
		}, Unknown: Unknown(rapid.IntRange(0, 8).Draw(t, "unknown"))}
		if rapid.Bool().Draw(t, "empty") {
			r.Counts = Counts{}
		}
		if got, want := r.isChecked(), r.checked() == r; got != want {
			t.Errorf("%+v: isChecked is %v, checked leaves it alone: %v", r, got, want)
		}
		if c := r.checked(); !c.isChecked() {
			t.Errorf("%+v: checked is not checked", c)
		}
	})
}
