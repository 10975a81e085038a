package providers

import (
	"slices"

	"github.com/tlsroll/tlsroll/guardrails"
)

// regular is how many minutes of a series at one distance are no accident. Four rows that fall into a quarter of an hour by chance
// have one distance of two minutes or more once in 75 times, and a source that is judged is asked for an hour and more before a run.
const regular = 4

// Spacing returns how many minutes apart the rows of a series lie, when all of a series with four minutes or more lie equally far
// apart and further than one minute: then they are not minutes but points of another granularity, and their numbers are sums over
// longer times. Otherwise it returns 1. A series that merely has gaps is not regular. Rows may come in any order; doubles do not count.
func Spacing(rows []guardrails.Row) int {
	type key struct {
		platform string
		leg      guardrails.Leg
	}
	series := map[key][]guardrails.Minute{}
	for i := range rows {
		k := key{rows[i].Platform, rows[i].Leg}
		series[k] = append(series[k], rows[i].Minute)
	}
	widest := 1
	for _, minutes := range series {
		widest = max(widest, spacing(minutes))
	}
	return widest
}

// spacing is Spacing of one series, whose order it changes.
func spacing(minutes []guardrails.Minute) int {
	slices.Sort(minutes)
	minutes = slices.Compact(minutes)
	if len(minutes) < regular {
		return 1
	}
	step := minutes[1] - minutes[0]
	for i := 2; i < len(minutes); i++ {
		if minutes[i]-minutes[i-1] != step {
			return 1
		}
	}
	return int(step)
}
