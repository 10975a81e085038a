package plans

import (
	"fmt"
	"math"
	"strconv"

	"github.com/tlsroll/tlsroll/guardrails"
)

// Weights are the DNS weights of the two records, 0..100 each, and whether each record is enabled.
type Weights struct {
	Primary   int
	Backup    int
	PrimaryOn bool
	BackupOn  bool
}

// Share is the primary's percentage of the enabled weight; 0 when nothing is enabled.
func (w Weights) Share() Percent {
	p, b := w.enabled()
	if p+b == 0 {
		return 0
	}
	return Percent(100 * float64(p) / float64(p+b))
}

// Answering reports whether at least one enabled record has a weight: law S9.
func (w Weights) Answering() bool {
	p, b := w.enabled()
	return p+b > 0
}

// Equal reports whether both say the same; the weight of a disabled record does not count.
func (w Weights) Equal(o Weights) bool {
	return w.PrimaryOn == o.PrimaryOn && w.BackupOn == o.BackupOn &&
		(!w.PrimaryOn || w.Primary == o.Primary) && (!w.BackupOn || w.Backup == o.Backup)
}

// String returns "10:90" with "off" for a disabled record.
func (w Weights) String() string {
	side := func(n int, on bool) string {
		if !on {
			return "off"
		}
		return strconv.Itoa(n)
	}
	return side(w.Primary, w.PrimaryOn) + ":" + side(w.Backup, w.BackupOn)
}

func (w Weights) enabled() (primary, backup int) {
	if w.PrimaryOn {
		primary = w.Primary
	}
	if w.BackupOn {
		backup = w.Backup
	}
	return primary, backup
}

// WeightsFor returns the weights that express a share of the primary, rounded to a whole percent. Weights of enabled records sum
// to 100, but for ZeroFloor, which keeps 1 against 100.
func WeightsFor(share Percent, zero Zero) Weights {
	n := int(math.Round(float64(share)))
	n = min(max(n, 0), 100)
	switch n {
	case 0:
		return drained(zero)
	case 100:
		d := drained(zero)
		return Weights{Primary: d.Backup, Backup: d.Primary, PrimaryOn: d.BackupOn, BackupOn: d.PrimaryOn}
	}
	return Weights{Primary: n, Backup: 100 - n, PrimaryOn: true, BackupOn: true}
}

func drained(zero Zero) Weights {
	switch zero {
	case ZeroWeight:
		return Weights{Primary: 0, Backup: 100, PrimaryOn: true, BackupOn: true}
	case ZeroFloor:
		return Weights{Primary: 1, Backup: 100, PrimaryOn: true, BackupOn: true}
	case ZeroDisable:
		return Weights{Primary: 1, Backup: 100, PrimaryOn: false, BackupOn: true}
	}
	panic(fmt.Sprintf("plans: dns.zero %d is not a known way to write zero", zero))
}

// WeightAction is the kind of a DNSWrite.
type WeightAction int

// The writes that tlsroll makes on DNS. Records are never created or deleted.
const (
	SetWeight WeightAction = iota + 1
	EnableRecord
	DisableRecord
)

// DNSWrite is one API write on the DNS lever.
type DNSWrite struct {
	Leg      guardrails.Leg
	RecordID string
	Action   WeightAction
	Weight   int // SetWeight only
}

// Apply returns what w becomes by the write.
func (d DNSWrite) Apply(w Weights) Weights {
	weight, on := &w.Primary, &w.PrimaryOn
	if d.Leg == guardrails.Backup {
		weight, on = &w.Backup, &w.BackupOn
	}
	switch d.Action {
	case SetWeight:
		*weight = d.Weight
	case EnableRecord:
		*on = true
	case DisableRecord:
		*on = false
	}
	return w
}

// WritesBetween returns the writes that bring cur to want, in the safe order of design section 16: records are enabled first and
// disabled last, and the two weights move so that the share in between lies between the old and the new one. Where both weights
// move the same way and no order allows that, the one with the lower share of the primary comes first. RecordID is left empty.
func WritesBetween(cur, want Weights) []DNSWrite {
	var writes []DNSWrite
	now := cur
	add := func(d DNSWrite) {
		writes = append(writes, d)
		now = d.Apply(now)
	}
	if want.BackupOn && !cur.BackupOn {
		add(DNSWrite{Leg: guardrails.Backup, Action: EnableRecord})
	}
	if want.PrimaryOn && !cur.PrimaryOn {
		add(DNSWrite{Leg: guardrails.Primary, Action: EnableRecord})
	}
	for _, d := range weightWrites(now, want) {
		add(d)
	}
	if !want.PrimaryOn && cur.PrimaryOn {
		add(DNSWrite{Leg: guardrails.Primary, Action: DisableRecord})
	}
	if !want.BackupOn && cur.BackupOn {
		add(DNSWrite{Leg: guardrails.Backup, Action: DisableRecord})
	}
	return writes
}

// weightWrites orders the one or two weight changes. The weight of a record that is off already is left alone: the API refuses it.
func weightWrites(now, want Weights) []DNSWrite {
	var ws []DNSWrite
	if now.BackupOn && now.Backup != want.Backup {
		ws = append(ws, DNSWrite{Leg: guardrails.Backup, Action: SetWeight, Weight: want.Backup})
	}
	if now.PrimaryOn && now.Primary != want.Primary {
		ws = append(ws, DNSWrite{Leg: guardrails.Primary, Action: SetWeight, Weight: want.Primary})
	}
	if len(ws) == 2 && !goodInterim(now, ws[0], ws[1]) {
		ws[0], ws[1] = ws[1], ws[0]
	}
	return ws
}

// goodInterim reports whether first before second is the better order.
func goodInterim(now Weights, first, second DNSWrite) bool {
	a, b := first.Apply(now), second.Apply(now)
	end := second.Apply(a)
	lo, hi := min(now.Share(), end.Share()), max(now.Share(), end.Share())
	between := func(w Weights) bool { return w.Answering() && w.Share() >= lo && w.Share() <= hi }
	if between(a) != between(b) {
		return between(a)
	}
	if a.Answering() != b.Answering() {
		return a.Answering()
	}
	return between(a) || a.Share() <= b.Share()
}
