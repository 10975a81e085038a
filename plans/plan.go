package plans

import (
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
)

// Percent is a proportion in hundredths; see [guardrails.Percent].
type Percent = guardrails.Percent

// Points is a difference of two percentages; see [guardrails.Points].
type Points = guardrails.Points

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
	HoldLimit  time.Duration // a hold that nobody resolves in this time rolls back
	OnDrift    Reaction
	Rehearse   bool // write the present weight in preflight, to prove the permission

	Steps    []Step // preflight is implicit and first
	Rollback []Step // always set: generated when the file has none
}

// Schedule says when a run may start and until when it may raise exposure. Times are civil times in Zone.
type Schedule struct {
	At            string // civil time 2006-01-02T15:04:05, or ""
	Cron          string // five fields, or ""
	Zone          string // IANA name, never ""
	StartDeadline time.Duration
	AdvanceUntil  string // clock time 15:04 after the start, or "": no step up from then on
}

// CDN is one leg.
type CDN struct {
	Provider    string // "alicloud" or "qiniu"
	Credentials string // "env", "file:PATH", "exec:COMMAND"; never a secret
	Endpoint    string // whole URL; "" is the vendor's
	Analytics   string // qiniu only: whole URL of the analytics host; "" is Endpoint's or the vendor's
	Region      string // alicloud only; "" is cn-hangzhou
	Edges       []string
	CA          string  // PEM file for handshakes; "" is the system's
	MaxShare    Percent // the share that the leg can carry
}

// DNS is the weighted pair of CNAME records.
type DNS struct {
	Provider    string
	Credentials string
	Endpoint    string
	Zone        string // example.com
	Record      string // cdn
	Line        string
	TTL         time.Duration
	Zero        Zero     // how a share of 0 % is written
	Nameservers []string // host:port; empty asks the zone's NS records
	Resolvers   []string // public resolvers to ask as well, host:port
}

// Zero is how a share of 0 % is expressed at the DNS provider.
type Zero int

// The ways to write zero; design section 16.
const (
	ZeroDisable Zero = iota + 1 // weight 1, then disable the record
	ZeroWeight                  // weight 0, where the API takes it
	ZeroFloor                   // weight 1 against 100: 0.99 % stays
)

// Reaction is what a run does on its own about something it did not expect.
type Reaction int

// The reactions.
const (
	ReactHold Reaction = iota + 1
	ReactRollback
)

// Expectation is a change that the report judges. It never decides.
type Expectation struct {
	Signal guardrails.Signal
	Change Percent // relative change against the baseline, or 0
	Above  Percent // the value itself must exceed this, or 0
}

// Source is where minutes come from.
type Source struct {
	Name    string
	Type    string // "prometheus" or "alicloud"
	URL     string
	Settle  time.Duration // a minute is judged this long after it ended
	Labels  map[string]string
	Legs    map[string]guardrails.Leg // value of the cdn label -> leg
	Queries map[string]string         // field name -> query
}

// Step is one entry of steps or rollback.
//
//sumtype:decl
type Step interface{ step() }

// Shift sets the primary's share of DNS weight, waits until it is verified, and bakes.
type Shift struct {
	Primary Percent
	Bake    time.Duration
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
	TTL       time.Duration
	OnTimeout Reaction
}

// Call asks a webhook and waits for its verdict: any status but Expect is a refusal.
type Call struct {
	URL    string
	Expect int
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
