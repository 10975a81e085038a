package guardrails_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/guardrails"
)

// The leg that matters is judged: the primary with any share, the backup with none, and what lingers on the primary only when it is bad.
func TestWatchJudgesTheLegThatMatters(t *testing.T) {
	type said struct {
		Leg   guardrails.Leg
		State guardrails.State
	}
	tests := []struct {
		name             string
		share, lingering guardrails.Percent
		primary, backup  guardrails.Counts
		want             []said
	}{
		{"a share on the primary", 60, 60, normal(600), normal(400), []said{{guardrails.Primary, guardrails.Clear}}},
		{"a bad backup is not asked while the primary carries", 60, 60, normal(600), failing(400, 200), []said{{guardrails.Primary, guardrails.Clear}}},
		{"nothing on the primary", 0, 0, failing(600, 300), normal(400), []said{{guardrails.Backup, guardrails.Clear}}},
		{"a healthy rest on the primary is not called healthy", 0, 1, normal(60), normal(940), []said{{guardrails.Backup, guardrails.Clear}}},
		{"a rest on the primary is hurt", 0, 1, failing(60, 30), normal(940), []said{{guardrails.Backup, guardrails.Clear}, {guardrails.Primary, guardrails.FireFast}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var rows []guardrails.Row
			for m := night; m < night+20; m++ {
				rows = append(rows, row(guardrails.Primary, m, test.primary), row(guardrails.Backup, m, test.backup))
			}
			tab := table(night, night+19, rows...)
			s := guardrails.Situation{Now: settled(night + 19), TTL: time.Minute, Share: test.share, Settled: true}
			var got []said
			for _, v := range guardrails.Watch(&tab, baseline(), []guardrails.Rule{rules()["errors"]}, s, test.lingering) {
				got = append(got, said{v.Leg, v.State})
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("verdicts mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

// What is left on a drained primary need not be much: its silence is no verdict.
func TestWatchHearsNoSilenceOnADrainedPrimary(t *testing.T) {
	var rows []guardrails.Row
	for m := night; m < night+20; m++ {
		rows = append(rows, row(guardrails.Primary, m, normal(5)), row(guardrails.Backup, m, normal(995)))
	}
	tab, list := table(night, night+19, rows...), []guardrails.Rule{rules()["silence"]}
	s := guardrails.Situation{Now: settled(night + 19), TTL: time.Minute, Settled: true}
	if vs := guardrails.Watch(&tab, baseline(), list, s, 5); len(vs) > 0 {
		t.Errorf("want no verdict, got %+v", vs)
	}
	s.Share = 5
	if vs := guardrails.Watch(&tab, baseline(), list, s, 5); len(vs) != 1 || vs[0].State != guardrails.Suspect {
		t.Errorf("asked for 5 %% it is silent: %+v", vs)
	}
}

func TestUnmeasuredNamesTheRuleThatCannotCompare(t *testing.T) {
	b := guardrails.Baseline{Series: []guardrails.SeriesBaseline{usual("ios", guardrails.Primary)}}
	other, shadow := rules()["status"], rules()["status"]
	other.Source, shadow.Source, shadow.Mode = "edge", "edge", guardrails.Shadow
	if r, ok := b.Unmeasured([]guardrails.Rule{rules()["errors"], shadow, other}); !ok || r.Source != "edge" || r.Mode != guardrails.Act {
		t.Errorf("want the acting rule on edge, got %+v %v", r, ok)
	}
	if r, ok := b.Unmeasured([]guardrails.Rule{rules()["errors"], rules()["silence"], shadow}); ok {
		t.Errorf("every acting rule that compares is measured, got %+v", r)
	}
	b.Series[0].Leg = guardrails.Backup
	if _, ok := b.Unmeasured([]guardrails.Rule{rules()["errors"]}); !ok {
		t.Error("only the backup was measured")
	}
}
