package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
)

// The waits between reads, in the run's time, and the bounds of one command. The rollout repeats a command that gave up.
const (
	readBackPause  = time.Second
	readBackTries  = 30
	confirmPause   = 2 * time.Second
	maxLeverWrites = 8
)

// setShare observes, compares, writes what is next, reads it back, until the weights are as wanted in two reads.
func (x *Executor) setShare(ctx context.Context, a rollout.SetShare) (plans.DNSState, error) {
	names, dns := named(a.Names), x.Ports.DNS
	if a.Force {
		dns = x.Ports.wayBack().DNS
	}
	var left []plans.Weights
	for range maxLeverWrites {
		if err := x.mayWrite(ctx); err != nil { // asked before the read too: what is read before a wait says nothing after it
			return plans.DNSState{}, err
		}
		s, w, err := x.readSince(ctx, dns, names, left)
		if err != nil {
			return plans.DNSState{}, err
		}
		left = append(left, w)
		if w.Equal(a.Want) {
			return x.confirmShare(ctx, dns, names, a)
		}
		if !a.Force && !onTheWay(w, a.Before, a.Want) {
			return plans.DNSState{}, &conflictError{fmt.Sprintf("the weights are %s; expected %s, or the way from there to %s", w, a.Before, a.Want)}
		}
		if err := x.writeShare(ctx, dns, s, w, a); err != nil {
			return plans.DNSState{}, err
		}
	}
	return plans.DNSState{}, unknownState("the weights did not become "+a.Want.String(), maxLeverWrites)
}

// readSince reads the records until they are none of those that this command has left behind, with a write that was read back. A server
// that is behind the others would show one of them, and a decision by it would repeat a write.
func (x *Executor) readSince(ctx context.Context, dns DNS, names plans.State, left []plans.Weights) (plans.State, plans.Weights, error) {
	for range readBackTries {
		s, w, err := x.readWeights(ctx, dns, names)
		if err != nil || !slices.ContainsFunc(left, w.Equal) {
			return s, w, err
		}
		if err := x.Ports.Pause(ctx, readBackPause); err != nil {
			return s, w, err
		}
	}
	return names, plans.Weights{}, unknownState("the weights are again what they were before a write that was read back", readBackTries)
}

// named is a state that knows the records' targets and nothing else.
func named(n rollout.Names) plans.State {
	return plans.State{Primary: plans.CDNState{CNAME: n.Primary}, Backup: plans.CDNState{CNAME: n.Backup}}
}

// readWeights reads the records into names, which knows their targets.
func (x *Executor) readWeights(ctx context.Context, dns DNS, names plans.State) (plans.State, plans.Weights, error) {
	var err error
	if names.DNS, err = dns.Read(ctx); err != nil {
		return names, plans.Weights{}, err
	}
	w, ok := names.Weights(x.Plan.DNS.Line)
	if !ok {
		return names, w, &providers.Error{
			Provider: x.Plan.DNS.Provider, Op: "read the records of " + x.Plan.Domain, Kind: providers.Missing,
			Err: fmt.Errorf("there is not exactly one record for each CDN on line %s", x.Plan.DNS.Line),
		}
	}
	return names, w, nil
}

// confirmShare reads once more: an answer may come from a server that is behind.
func (x *Executor) confirmShare(ctx context.Context, dns DNS, names plans.State, a rollout.SetShare) (plans.DNSState, error) {
	if err := x.Ports.Pause(ctx, confirmPause); err != nil {
		return plans.DNSState{}, err
	}
	s, w, err := x.readWeights(ctx, dns, names)
	if err == nil && !w.Equal(a.Want) {
		err = unknownState("the second read says "+w.String()+" instead of "+a.Want.String(), 1)
	}
	return s.DNS, err
}

// writeShare makes one write and reads it back. An answer that leaves open whether it was applied leads to a read, not to a repeat.
func (x *Executor) writeShare(ctx context.Context, dns DNS, s plans.State, w plans.Weights, a rollout.SetShare) error {
	write := plans.WritesBetween(w, a.Want)[0]
	primary, backup, _ := s.Pair(x.Plan.DNS.Line)
	write.RecordID = primary.ID
	if write.Leg == guardrails.Backup {
		write.RecordID = backup.ID
	}
	expect := write.Apply(w)
	if most := max(a.Before.Share(), a.Want.Share()); !a.Force && expect.Share() > most {
		return &conflictError{fmt.Sprintf("the next write would leave %s, %s for the primary, more than the %s asked for: somebody changed a weight", expect, expect.Share(), most)}
	}
	if err := x.mayWrite(ctx); err != nil {
		return err
	}
	writeErr := dns.Write(ctx, write)
	if writeErr != nil && providers.KindOf(writeErr) != providers.Unknown {
		return writeErr
	}
	for range readBackTries {
		_, got, err := x.readWeights(ctx, dns, s)
		if err != nil {
			return err
		}
		if got.Equal(expect) {
			return nil
		}
		if err := x.Ports.Pause(ctx, readBackPause); err != nil {
			return err
		}
	}
	if writeErr != nil {
		return writeErr
	}
	return unknownState("a write of "+expect.String()+" was accepted and does not show", readBackTries)
}

// onTheWay reports whether w is where a shift begins, ends, or passes.
func onTheWay(w, from, to plans.Weights) bool {
	if w.Equal(from) || w.Equal(to) {
		return true
	}
	for _, d := range plans.WritesBetween(from, to) {
		if from = d.Apply(from); w.Equal(from) {
			return true
		}
	}
	return false
}

// setTLS is the same for the other lever. It returns when the settings are accepted and read back; live is for handshakes to prove.
func (x *Executor) setTLS(ctx context.Context, a rollout.SetTLS) (plans.TLSSettings, error) {
	primary := x.Ports.Primary
	if a.Force {
		primary = x.Ports.wayBack().Primary
	}
	if err := x.mayWrite(ctx); err != nil { // as above
		return plans.TLSSettings{}, err
	}
	s, err := primary.Read(ctx)
	if err != nil {
		return plans.TLSSettings{}, err
	}
	if write, needed := plans.NextTLSWrite(s.TLS, a.Want); needed {
		if !a.Force && !isTarget(s.TLS, a.Before) && !isTarget(s.TLS, a.Want) {
			return plans.TLSSettings{}, &conflictError{fmt.Sprintf("the primary's TLS settings are %s; expected %s", s.TLS.Enabled, a.Before.Enabled)}
		}
		if err := x.writeTLS(ctx, primary, write, a.Want); err != nil {
			return plans.TLSSettings{}, err
		}
	}
	return x.confirmTLS(ctx, primary, a)
}

func isTarget(s plans.TLSSettings, t plans.TLSTarget) bool {
	return s.Explicit != t.Absent && (t.Absent || s.Enabled == t.Enabled)
}

func (x *Executor) confirmTLS(ctx context.Context, primary TLSSetter, a rollout.SetTLS) (plans.TLSSettings, error) {
	if err := x.Ports.Pause(ctx, confirmPause); err != nil {
		return plans.TLSSettings{}, err
	}
	s, err := primary.Read(ctx)
	if err == nil && !isTarget(s.TLS, a.Want) {
		err = unknownState("the second read says "+s.TLS.Enabled.String()+" instead of "+a.Want.Enabled.String(), 1)
	}
	return s.TLS, err
}

func (x *Executor) writeTLS(ctx context.Context, primary TLSSetter, w plans.TLSWrite, want plans.TLSTarget) error {
	if err := x.mayWrite(ctx); err != nil {
		return err
	}
	writeErr := primary.SetTLS(ctx, w)
	if writeErr != nil && providers.KindOf(writeErr) != providers.Unknown {
		return writeErr
	}
	for range readBackTries {
		s, err := primary.Read(ctx)
		if err != nil {
			return err
		}
		if isTarget(s.TLS, want) && s.TLS.Status != plans.ConfigFailed {
			return nil
		}
		if err := x.Ports.Pause(ctx, readBackPause); err != nil {
			return err
		}
	}
	if writeErr != nil {
		return writeErr
	}
	return unknownState("settings were accepted and do not show", readBackTries)
}

// rehearse writes the present weight of a record that is on. It changes nothing, and shows that writing is permitted.
func (x *Executor) rehearse(ctx context.Context, a rollout.Rehearse) error {
	if err := x.mayWrite(ctx); err != nil { // before the read, as in setShare
		return err
	}
	s, w, err := x.readWeights(ctx, x.Ports.DNS, named(a.Names))
	if err != nil {
		return err
	}
	primary, backup, _ := s.Pair(x.Plan.DNS.Line)
	write := plans.DNSWrite{Leg: guardrails.Primary, RecordID: primary.ID, Action: plans.SetWeight, Weight: w.Primary}
	if !w.PrimaryOn {
		write = plans.DNSWrite{Leg: guardrails.Backup, RecordID: backup.ID, Action: plans.SetWeight, Weight: w.Backup}
	}
	if err := x.mayWrite(ctx); err != nil {
		return err
	}
	return x.Ports.DNS.Write(ctx, write)
}

func (x *Executor) mayWrite(ctx context.Context) error {
	if x.Ports.MayWrite == nil {
		return nil
	}
	return x.Ports.MayWrite(ctx)
}

func unknownState(text string, tries int) error {
	return &providers.Error{Provider: "tlsroll", Op: "read back", Kind: providers.Unknown, Err: fmt.Errorf("%s (%d reads)", text, tries)}
}
