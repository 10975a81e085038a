package view

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

// RunDoc is a run for machines. Shares are percent, tolerances percentage points, times RFC 3339.
type RunDoc struct {
	Schema   string    `json:"schema"`
	Run      string    `json:"run"`
	Plan     string    `json:"plan"`
	Domain   string    `json:"domain"`
	Digest   string    `json:"digest"`
	Phase    string    `json:"phase"`
	Why      string    `json:"why,omitempty"`
	Live     string    `json:"live"`
	BackWhy  string    `json:"rolled_back_because,omitempty"`
	Started  time.Time `json:"started"`
	At       time.Time `json:"at"`
	Records  uint64    `json:"records"`
	Awaiting string    `json:"awaiting,omitempty"`
	Steps    []StepDoc `json:"steps"`

	Expected []ExpectedDoc `json:"expected"`

	Lab *LabDoc `json:"lab,omitempty"`
}

// StepDoc is one step as it was carried out.
type StepDoc struct {
	Way        string         `json:"way"`
	Index      int            `json:"index"`
	Name       string         `json:"name"`
	Entered    time.Time      `json:"entered"`
	Applied    *time.Time     `json:"applied,omitempty"`
	Verified   *time.Time     `json:"verified,omitempty"`
	Left       *time.Time     `json:"left,omitempty"`
	Weights    WeightsDoc     `json:"weights"`
	Handshakes []HandshakeDoc `json:"handshakes"`
	Verdicts   []VerdictDoc   `json:"verdicts"`
}

// WeightsDoc are the four weights of a step, as the primary's share. What is not known is null.
type WeightsDoc struct {
	Asked     float64  `json:"asked"`
	Stored    float64  `json:"stored"`
	Records   string   `json:"records"` // primary:backup
	Answered  *float64 `json:"answered"`
	Replies   int      `json:"replies"`
	Carried   *float64 `json:"carried"`
	Tolerance *float64 `json:"tolerance"`
}

// HandshakeDoc is what one edge showed.
type HandshakeDoc struct {
	Edge        string  `json:"edge"`
	Leg         string  `json:"leg"`
	Accepted    string  `json:"accepted"`
	Version     string  `json:"version"`
	Suite       string  `json:"suite"`
	Group       string  `json:"group"`
	ALPN        string  `json:"alpn"`
	Sentinel    bool    `json:"downgrade_sentinel"`
	Certificate string  `json:"certificate_error,omitempty"`
	Error       string  `json:"error,omitempty"`
	ConnectMS   float64 `json:"connect_ms"`
	TLSMS       float64 `json:"tls_ms"`
}

// VerdictDoc is what one rule said.
type VerdictDoc struct {
	Rule     string    `json:"rule"`
	Platform string    `json:"platform"`
	Leg      string    `json:"leg"`
	State    string    `json:"state"`
	Side     string    `json:"side"`
	Value    *float64  `json:"value"`
	Limit    *float64  `json:"limit"`
	Expected *float64  `json:"expected"`
	Breach   int       `json:"breach"`
	OK       int       `json:"ok"`
	Unknown  int       `json:"unknown"`
	Why      string    `json:"unknown_because,omitempty"`
	From     time.Time `json:"from"`
	Through  time.Time `json:"through"`
	Decision string    `json:"decision"`
	Control  string    `json:"control,omitempty"`
	Versus   *float64  `json:"versus_control,omitempty"`
	Weak     bool      `json:"without_week,omitempty"`
	BlindFor int       `json:"blind_minutes,omitempty"`
}

// LabDoc is what a demo adds: what the lab received, and how fast the way back was, in wall seconds.
type LabDoc struct {
	Fault           string     `json:"fault"`
	Speed           float64    `json:"speed"`
	Seed            uint64     `json:"seed"`
	WallSeconds     float64    `json:"wall_seconds"`
	Writes          []CallDoc  `json:"writes"`
	DecidingFetch   *time.Time `json:"deciding_fetch,omitempty"`
	FirstWrite      *float64   `json:"first_rollback_write_seconds_after,omitempty"`
	LeversApart     *float64   `json:"levers_apart_seconds,omitempty"`
	RestoredAtEnd   bool       `json:"state_equals_start"`
	StateAtTheEnd   string     `json:"state_at_end"`
	StateAtTheStart string     `json:"state_at_start"`
}

// CallDoc is one write that the lab received.
type CallDoc struct {
	Wall    time.Time `json:"wall"`
	Virtual time.Time `json:"virtual"`
	Call    string    `json:"call"`
}

// NewRunDoc describes a run.
func NewRunDoc(r rollout.Run) RunDoc {
	d := RunDoc{
		Schema: "tlsroll/run.v1", Run: string(r.ID), Digest: r.Digest, Phase: r.Phase().String(), Live: r.Live(), BackWhy: r.BackWhy,
		Started: r.Started, At: r.At, Records: r.Seq, Steps: []StepDoc{},
		Expected: expectedDocs(r),
	}
	if r.Plan != nil {
		d.Plan, d.Domain = r.Plan.Name, r.Plan.Domain
	}
	if r.End != nil {
		d.Why = r.End.Why
	} else if r.Plan != nil {
		_, d.Awaiting = Awaiting(r, r.Plan.Location())
	}
	for _, p := range r.Steps {
		d.Steps = append(d.Steps, stepDoc(p))
	}
	return d
}

func stepDoc(p rollout.Progress) StepDoc {
	d := StepDoc{
		Way: p.Way.String(), Index: p.Index, Name: p.Name, Entered: p.Entered, Applied: instant(p.Applied), Verified: instant(p.Verified), Left: instant(p.Left),
		Weights:    WeightsDoc{Asked: float64(p.Asked), Stored: float64(p.Stored.Share()), Records: p.Stored.String(), Replies: p.AnsweredN},
		Handshakes: []HandshakeDoc{}, Verdicts: []VerdictDoc{},
	}
	if p.AnsweredN > 0 {
		d.Weights.Answered = new(float64(p.Answered))
	}
	if p.Carried.Known {
		d.Weights.Carried, d.Weights.Tolerance = new(float64(p.Carried.Carried)), new(float64(p.Carried.Tolerance))
	}
	for _, h := range p.Handshakes {
		d.Handshakes = append(d.Handshakes, handshakeDoc(h))
	}
	for _, v := range p.Verdicts {
		d.Verdicts = append(d.Verdicts, verdictDoc(v))
	}
	return d
}

func handshakeDoc(h plans.Handshake) HandshakeDoc {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	d := HandshakeDoc{
		Edge: h.Edge, Leg: h.Leg.String(), Accepted: h.Accepted.String(), Suite: h.Suite, Group: h.Group, ALPN: h.ALPN, Sentinel: h.Sentinel,
		Certificate: h.ChainError, Error: h.Error, ConnectMS: ms(h.Connect), TLSMS: ms(h.TLS),
	}
	if h.Version != 0 {
		d.Version = h.Version.String()
	}
	return d
}

func verdictDoc(v guardrails.Verdict) VerdictDoc {
	d := VerdictDoc{
		Rule: v.Rule, Platform: v.Platform, Leg: v.Leg.String(), State: v.State.String(), Side: v.Side, Breach: v.Breach, OK: v.OK, Unknown: v.Unknown,
		From: v.From.Start(), Through: v.Through.Start(),
	}
	if v.Known {
		d.Value, d.Limit, d.Expected = new(v.Value), new(v.Limit), new(v.Expected)
	}
	if v.Why != 0 {
		d.Why = v.Why.String()
	}
	d.Decision, d.Control, d.Weak, d.BlindFor = v.Decision().String(), v.Control.String(), v.Weak, v.BlindFor
	if v.Control > guardrails.ControlNone {
		d.Versus = new(v.Versus)
	}
	return d
}

func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// RunJSON prints a run for machines.
func RunJSON(out io.Writer, r rollout.Run) error { return JSON(out, NewRunDoc(r)) }

// JSON prints any document of this package.
func JSON(out io.Writer, doc any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(doc); err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	return nil
}

// Validation is what validate -o json prints.
type Validation struct {
	Schema string        `json:"schema"`
	Valid  bool          `json:"valid"`
	Files  []FileProblem `json:"files"`
}

// FileProblem is one file of it.
type FileProblem struct {
	File     string       `json:"file"`
	Digest   string       `json:"digest,omitempty"`
	Problems []ProblemDoc `json:"problems"`
}

// ProblemDoc is one problem of a plan.
type ProblemDoc struct {
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
}

// Add adds a file.
func (v *Validation) Add(file string, p *plans.Plan, problems plans.Problems) {
	f := FileProblem{File: file, Problems: []ProblemDoc{}}
	if !problems.HasErrors() {
		f.Digest = plans.Digest(p)
	}
	for _, x := range problems {
		f.Problems = append(f.Problems, ProblemDoc{Line: x.Line, Column: x.Col, Severity: x.Severity.String(), Message: x.Message, Hint: x.Hint})
	}
	v.Files = append(v.Files, f)
}
