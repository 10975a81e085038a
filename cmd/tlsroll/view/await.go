package view

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/guardrails"
)

// Awaiting says what a run waits for and until when. what changes when something else is awaited, text with every number.
func Awaiting(r rollout.Run, zone *time.Location) (what, text string) {
	until := func(t time.Time) string {
		return fmt.Sprintf("%s (%s)", t.In(zone).Format("15:04:05"), t.Sub(r.At).Round(time.Second))
	}
	key := fmt.Sprint(r.Way, r.Step, r.Stage)
	if r.Held != nil {
		return key + "hold", fmt.Sprintf("holding, limit %s: %s", until(r.HoldUntil()), r.Held.Ends())
	}
	switch r.Stage {
	case rollout.StageScheduled:
		return key, "the start at " + until(r.Start)
	case rollout.StageChecking:
		return key, "preflight: the providers' state, handshakes, history of every source, name servers; until " + until(r.Begun.Add(rollout.PreflightLimit))
	case rollout.StageEntering:
		return key, "the next step: every rule CLEAR and the share verified"
	case rollout.StageApplying:
		return key, "the write to land and be read back"
	case rollout.StageProveShare:
		return key, fmt.Sprintf("the traffic to follow to %s, hold at %s", pct(r.Asked), until(r.ShareAt.Add(rollout.ConvergeHold)))
	case rollout.StageProveTLS:
		return key, "every edge to show the settings, at the latest " + until(r.Waiting.Add(proofLimit(r)))
	case rollout.StageBaking:
		return key, fmt.Sprintf("bake at %s until %s, %s", pct(r.Asked), until(r.BakeUntil), summary(r.Verdicts))
	case rollout.StageApproving:
		return key, "approval"
	case rollout.StageSettling:
		return key, "every rule CLEAR at half its band, at the latest " + until(r.Waiting.Add(rollout.SettleLimit))
	}
	return "", ""
}

func proofLimit(r rollout.Run) time.Duration {
	if r.Way == rollout.Back {
		return rollout.ProofLimitBack
	}
	return rollout.ProofLimit
}

// summary counts the verdicts by state, healthiest first.
func summary(vs []guardrails.Verdict) string {
	var counts [guardrails.FireFast + 1]int
	for _, v := range vs {
		counts[v.State]++
	}
	if len(vs) == 0 {
		return "guardrails: not judged yet"
	}
	words := []string{"guardrails:"}
	for s := guardrails.Clear; s <= guardrails.FireFast; s++ {
		if counts[s] > 0 {
			words = append(words, strconv.Itoa(counts[s]), s.String())
		}
	}
	return strings.Join(words, " ")
}
