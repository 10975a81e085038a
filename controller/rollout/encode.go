package rollout

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
)

// journal form of a record. Field names and kinds are a contract with every journal ever written.
type wireRecord struct {
	Seq    uint64          `json:"seq"`
	At     time.Time       `json:"at"`
	Kind   string          `json:"kind"`
	Event  json.RawMessage `json:"event"`
	Result string          `json:"result,omitempty"` // CommandSucceeded: kind of the result
}

type wireSuccess struct {
	ID     CommandID
	Result json.RawMessage
}

// wireMinutes keeps what the rows were, not the rows.
type wireMinutes struct {
	ID     CommandID
	Source string
	Settle time.Duration
	From   guardrails.Minute
	To     guardrails.Minute
	Digest string
}

// Kind is the name of an event in the journal, as "command_succeeded".
func Kind(e Event) string {
	switch e.(type) {
	case Started:
		return "started"
	case Resumed:
		return "resumed"
	case CommandSucceeded:
		return "command_succeeded"
	case CommandFailed:
		return "command_failed"
	case MinutesArrived:
		return "minutes_arrived"
	case SourceFailed:
		return "source_failed"
	case TimerFired:
		return "timer_fired"
	case PauseOrdered:
		return "pause_ordered"
	case ResumeOrdered:
		return "resume_ordered"
	case PromoteOrdered:
		return "promote_ordered"
	case AbortOrdered:
		return "abort_ordered"
	case Approved:
		return "approved"
	}
	return ""
}

func resultKind(r Result) string {
	switch r.(type) {
	case StateRead:
		return "state_read"
	case ShareSet:
		return "share_set"
	case TLSSet:
		return "tls_set"
	case HandshakesDone:
		return "handshakes_done"
	case Resolved:
		return "resolved"
	case Done:
		return "done"
	}
	return ""
}

// Encode returns the journal form of a record: one JSON object. The rows of MinutesArrived are left out; they are kept beside it.
func Encode(rec Record) ([]byte, error) {
	w := wireRecord{Seq: rec.Seq, At: rec.At.UTC(), Kind: Kind(rec.Event)}
	var body any = rec.Event
	switch e := rec.Event.(type) {
	case CommandSucceeded:
		res, err := json.Marshal(e.Result)
		if err != nil {
			return nil, fmt.Errorf("encode record %d: result: %w", rec.Seq, err)
		}
		w.Result = resultKind(e.Result)
		body = wireSuccess{ID: e.ID, Result: res}
	case MinutesArrived:
		body = wireMinutes{ID: e.ID, Source: e.Batch.Source, Settle: e.Batch.Settle, From: e.Batch.From, To: e.Batch.To, Digest: e.Digest}
	case Started, Resumed, CommandFailed, SourceFailed, TimerFired, PauseOrdered, ResumeOrdered, PromoteOrdered, AbortOrdered, Approved:
	}
	var err error
	if w.Event, err = json.Marshal(body); err != nil {
		return nil, fmt.Errorf("encode record %d: %w", rec.Seq, err)
	}
	return json.Marshal(w)
}

// Decode reads the journal form. A kind it does not know is an error: an event that is skipped would change what the run is.
func Decode(data []byte) (Record, error) {
	if rec, ok := decodeCanonical(data); ok {
		return rec, nil
	}
	var w wireRecord
	if err := json.Unmarshal(data, &w); err != nil {
		return Record{}, fmt.Errorf("decode record: %w", err)
	}
	e, err := decodeEvent(w)
	if err != nil {
		return Record{}, fmt.Errorf("decode record %d, %s: %w", w.Seq, w.Kind, err)
	}
	return Record{Seq: w.Seq, At: w.At, Event: e}, nil
}

func decodeEvent(w wireRecord) (Event, error) {
	switch w.Kind {
	case "started":
		return as[Started](w.Event)
	case "command_succeeded":
		if e, ok := successCanonical(w); ok {
			return e, nil
		}
		s, err := as[wireSuccess](w.Event)
		if err != nil {
			return nil, err
		}
		res, err := decodeResult(w.Result, s.Result)
		return CommandSucceeded{ID: s.ID, Result: res}, err
	case "command_failed":
		return as[CommandFailed](w.Event)
	case "minutes_arrived":
		m, err := as[wireMinutes](w.Event)
		return MinutesArrived{ID: m.ID, Batch: guardrails.Batch{Source: m.Source, Settle: m.Settle, From: m.From, To: m.To}, Digest: m.Digest}, err
	case "source_failed":
		return as[SourceFailed](w.Event)
	case "timer_fired":
		return as[TimerFired](w.Event)
	}
	return decodeOrder(w)
}

func decodeOrder(w wireRecord) (Event, error) {
	switch w.Kind {
	case "resumed":
		return as[Resumed](w.Event)
	case "pause_ordered":
		return as[PauseOrdered](w.Event)
	case "resume_ordered":
		return as[ResumeOrdered](w.Event)
	case "promote_ordered":
		return as[PromoteOrdered](w.Event)
	case "abort_ordered":
		return as[AbortOrdered](w.Event)
	case "approved":
		return as[Approved](w.Event)
	}
	return nil, fmt.Errorf("unknown kind of event %q: the journal is from a newer tlsroll, or damaged", w.Kind)
}

func decodeResult(kind string, data json.RawMessage) (Result, error) {
	switch kind {
	case "state_read":
		return as[StateRead](data)
	case "share_set":
		return as[ShareSet](data)
	case "tls_set":
		return as[TLSSet](data)
	case "handshakes_done":
		return as[HandshakesDone](data)
	case "resolved":
		return as[Resolved](data)
	case "done":
		return as[Done](data)
	}
	return nil, fmt.Errorf("unknown kind of result %q: the journal is from a newer tlsroll, or damaged", kind)
}

func as[T any](data json.RawMessage) (T, error) {
	var v T
	err := json.Unmarshal(data, &v)
	return v, err
}

// EncodeRows returns the stored form of a batch's rows, and its digest. The rows must be those of [guardrails.Batch.Resolved]:
// numbers that are no numbers cannot be encoded.
func EncodeRows(rows []guardrails.Row) (data []byte, digest string, err error) {
	if data, err = json.Marshal(rows); err != nil {
		return nil, "", fmt.Errorf("encode %d rows: %w", len(rows), err)
	}
	return data, digestOf(data), nil
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// DecodeRows reads the stored form of rows and refuses one that is not what the digest says.
func DecodeRows(data []byte, digest string) ([]guardrails.Row, error) {
	if got := digestOf(data); got != digest {
		return nil, fmt.Errorf("rows are not those of the record: digest %s, the record says %s", got, digest)
	}
	rows, err := as[[]guardrails.Row](data)
	if err != nil {
		return nil, fmt.Errorf("decode rows: %w", err)
	}
	return rows, nil
}
