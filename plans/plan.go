package plans

import (
	"strconv"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
)

// Percent is a proportion in hundredths; see [guardrails.Percent].
type Percent = guardrails.Percent

// Points is a difference of two percentages; see [guardrails.Points].
type Points = guardrails.Points

// Version is the only value that a plan's version key may have.
const Version = "tlsroll/v1"

// Plan is one change, decoded and with every default filled in. It is never changed after Parse.
type Plan struct {
	Name   string
	Domain string
	Ticket string
	Owners []string

	Schedule Schedule
	Primary  CDN // carries the change
	Backup   CDN // the control, and the leg that rollback fills
	DNS      DNS
	Change   Change
	Expect   []Expectation

	Sources    []Source // in the order of the file
	Guardrails []guardrails.Rule
	HoldLimit  time.Duration // a hold that nobody resolves in this time rolls back; default 60m
	OnDrift    Reaction      // default ReactHold
	OnBlind    Reaction      // no data about either leg for 15 minutes; default ReactRollback
	// CommonCauseLimit is how long a breach that the backup shows too may last before it rolls back; default 20m, 0 at once.
	CommonCauseLimit time.Duration
	Rehearse         bool // write the present weight in preflight, to prove the permission; default true

	Steps    []Step // preflight is implicit and first
	Rollback []Step // always set: generated when the file has none
}

// Schedule says when a run may start and until when it may raise exposure. Times are civil times in Zone.
type Schedule struct {
	At            string        // civil time 2006-01-02T15:04:05, with an offset as +01:00 when the clock shows it twice, or ""
	Cron          string        // five fields, or ""
	Zone          string        // IANA name, never ""; UTC when no key of the schedule needs one
	StartDeadline time.Duration // a start later than this is missed; default 15m
	AdvanceUntil  string        // clock time 15:04 after the start, or "": no step up from then on
}

// CDN is one leg.
type CDN struct {
	Provider    string   // "alicloud" or "qiniu"
	Credentials string   // "env" (default), "file:PATH", "exec:COMMAND", "systemd:NAME" or "chain"; never a secret
	Endpoint    string   // whole URL; "" is the vendor's
	Analytics   string   // qiniu only: whole URL of the analytics host; "" is Endpoint's or the vendor's
	Region      string   // alicloud only; "" is cn-hangzhou; Parse fills it in
	Edges       []string // host:port, for handshakes; empty asks the DNS for them
	CA          string   // PEM file for handshakes; "" is the system's
	MaxShare    Percent  // the share that the leg can carry; default 100
}

// DNS is the weighted pair of CNAME records.
type DNS struct {
	Provider    string        // "alicloud"
	Credentials string        // as in CDN
	Endpoint    string        // whole URL; "" is the vendor's
	Zone        string        // example.com
	Record      string        // cdn; "@" when the domain is the zone
	Line        string        // default "default"
	TTL         time.Duration // default 60s
	Zero        Zero          // how a share of 0 % is written; default ZeroDisable
	Fence       Fence         // default FenceOff
	Nameservers []string      // host:port; empty asks the zone's NS records
	Resolvers   []string      // public resolvers to ask as well, host:port
}

// Zero is how a share of 0 % is expressed at the DNS provider.
type Zero int

// The ways to write zero; design section 16.
const (
	ZeroDisable Zero = iota + 1 // weight 1, then disable the record
	ZeroWeight                  // weight 0, where the API takes it
	ZeroFloor                   // weight 1 against 100: 0.99 % stays
)

// String returns "disable", "weight" or "floor".
func (z Zero) String() string {
	switch z {
	case ZeroDisable:
		return "disable"
	case ZeroWeight:
		return "weight"
	case ZeroFloor:
		return "floor"
	}
	return "zero " + strconv.Itoa(int(z))
}

// Fence says whether a run marks the records that it works on, so that an older run is noticed.
type Fence int

// The fences; design section 16.
const (
	FenceOff    Fence = iota + 1 // records are not marked
	FenceRemark                  // the run writes its id into the record's remark, never over somebody else's
)

// String returns "off" or "remark".
func (f Fence) String() string {
	switch f {
	case FenceOff:
		return "off"
	case FenceRemark:
		return "remark"
	}
	return "fence " + strconv.Itoa(int(f))
}

// Reaction is what a run does on its own about something it did not expect.
type Reaction int

// The reactions.
const (
	ReactHold Reaction = iota + 1
	ReactRollback
)

// String returns "hold" or "rollback".
func (r Reaction) String() string {
	switch r {
	case ReactHold:
		return "hold"
	case ReactRollback:
		return "rollback"
	}
	return "reaction " + strconv.Itoa(int(r))
}

// Expectation is a change that the report judges. It never decides.
type Expectation struct {
	Signal guardrails.Signal
	Change Percent // relative change against the baseline, or 0
	Above  Percent // the value itself must exceed this, or 0
}

// Step is one entry of steps or rollback.
//
//sumtype:decl
type Step interface{ step() }

// Shift sets the primary's share of DNS weight, waits until it is verified, and bakes.
type Shift struct {
	Primary Percent       // 0..100, as written in the plan; WeightsFor rounds it
	Bake    time.Duration // 0 goes on at once
}

// TLS applies the plan's change, or restores what was observed at the start, and proves it by handshakes.
type TLS struct{ Restore bool }

// Bake waits with every guardrail armed.
type Bake struct{ For time.Duration }

// Observe waits like Bake until a clock time ("19:00" in the schedule's zone, the next one) or for a duration.
type Observe struct {
	For   time.Duration
	Until string
}

// Approve waits for a person.
type Approve struct {
	By        string
	TTL       time.Duration // how long to wait
	OnTimeout Reaction      // default ReactHold
}

// Call asks a webhook and waits for its verdict: any status but Expect is a refusal.
type Call struct {
	URL    string
	Expect int // 100..599, default 200
}

// Together runs its steps at the same time; only Shift and TLS may stand in it.
type Together struct{ Steps []Step }

// Verify proves by handshakes that the TLS settings are the ones observed at the start.
type Verify struct{}

func (Shift) step()    {}
func (TLS) step()      {}
func (Bake) step()     {}
func (Observe) step()  {}
func (Approve) step()  {}
func (Call) step()     {}
func (Together) step() {}
func (Verify) step()   {}
