package view

import (
	"fmt"
	"io"

	"github.com/tlsroll/tlsroll/controller/rollout"
)

// EventsJSON prints a journal as JSON lines, a version line first.
func EventsJSON(out io.Writer, records []rollout.Record) error {
	if _, err := fmt.Fprintln(out, `{"schema":"tlsroll/events.v1"}`); err != nil {
		return fmt.Errorf("print events: %w", err)
	}
	for _, rec := range records {
		data, err := rollout.Encode(rec)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s\n", data); err != nil {
			return fmt.Errorf("print events: %w", err)
		}
	}
	return nil
}

// Events prints a journal for people: number, time in UTC, what happened, and which commands followed.
func Events(out io.Writer, records []rollout.Record) error {
	run := rollout.Run{}
	for _, rec := range records {
		var due []rollout.Command
		run, due = rollout.Next(run, rec)
		if _, err := fmt.Fprintf(out, "%5d  %s  %s\n", rec.Seq, rec.At.UTC().Format("2006-01-02T15:04:05.000Z"), eventText(rec.Event)); err != nil {
			return fmt.Errorf("print events: %w", err)
		}
		for _, c := range due {
			if _, err := fmt.Fprintf(out, "%33s-> %d %s\n", "", c.ID, actionText(c.Action)); err != nil {
				return fmt.Errorf("print events: %w", err)
			}
		}
	}
	return nil
}

func eventText(e rollout.Event) string {
	switch e := e.(type) {
	case rollout.Started:
		return fmt.Sprintf("started by %s, plan %s", e.Actor, e.Digest)
	case rollout.Resumed:
		return "resumed by " + e.Actor
	case rollout.CommandSucceeded:
		return fmt.Sprintf("%d succeeded: %s", e.ID, resultText(e.Result))
	case rollout.CommandFailed:
		return fmt.Sprintf("%d failed (%s): %s", e.ID, e.Kind, e.Text)
	case rollout.MinutesArrived:
		return fmt.Sprintf("%d minutes of %s: %d rows, %s to %s", e.ID, e.Batch.Source, len(e.Batch.Rows),
			e.Batch.From.Start().Format("15:04"), e.Batch.To.Start().Format("15:04Z"))
	case rollout.SourceFailed:
		return fmt.Sprintf("%d source %s failed (%s): %s", e.ID, e.Source, e.Kind, e.Text)
	case rollout.TimerFired:
		return fmt.Sprintf("%d timer", e.ID)
	case rollout.PauseOrdered:
		return "pause ordered by " + e.Actor + ": " + e.Reason
	case rollout.ResumeOrdered:
		return "resume ordered by " + e.Actor + ": " + e.Reason
	case rollout.PromoteOrdered:
		return "promote ordered by " + e.Actor + ": " + e.Reason
	case rollout.AbortOrdered:
		return "abort ordered by " + e.Actor + ": " + e.Reason
	case rollout.Approved:
		return "approved by " + e.Actor + ": " + e.Comment
	}
	return ""
}

func resultText(r rollout.Result) string {
	switch r := r.(type) {
	case rollout.StateRead:
		return fmt.Sprintf("state read, %d records, TLS %s (%s)", len(r.State.DNS.Records), r.State.Primary.TLS.Enabled, r.State.Primary.TLS.Status)
	case rollout.ShareSet:
		return "weights set and read back"
	case rollout.TLSSet:
		return fmt.Sprintf("TLS settings %s accepted and read back (%s)", r.TLS.Enabled, r.TLS.Status)
	case rollout.HandshakesDone:
		return fmt.Sprintf("%d edges probed", len(r.Handshakes))
	case rollout.Resolved:
		share, n := rollout.AnsweredShare(r.Answers)
		return fmt.Sprintf("%d replies, %.1f %% for the primary", n, float64(share))
	case rollout.Done:
		return "done"
	}
	return ""
}

func actionText(a rollout.Action) string {
	switch a := a.(type) {
	case rollout.ReadState:
		return "read state"
	case rollout.SetShare:
		return fmt.Sprintf("set weights %s (were %s)", a.Want, a.Before)
	case rollout.SetTLS:
		return "set TLS " + a.Want.Enabled.String()
	case rollout.Handshake:
		return "handshakes with the " + a.Leg.String()
	case rollout.Resolve:
		return fmt.Sprintf("ask each name server %d times", a.Queries)
	case rollout.FetchMinutes:
		return fmt.Sprintf("fetch %s %s to %s", a.Source, a.From.Start().Format("15:04"), a.To.Start().Format("15:04Z"))
	case rollout.Wake:
		return fmt.Sprintf("wake at %s for %s", a.At.UTC().Format("15:04:05Z"), a.Do)
	case rollout.Rehearse:
		return "rehearse a write"
	case rollout.Notify:
		return fmt.Sprintf("notify (%s): %s", a.Urgency, a.Text)
	case rollout.Call:
		return "call " + a.URL
	}
	return ""
}
