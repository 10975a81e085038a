package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
)

// Call is one API call that the lab received.
type Call struct {
	Wall    time.Time
	Virtual time.Time
	API     string            // "alidns:UpdateDNSSLBWeight", "qiniu:/domain/cdn.example.com", "prometheus:/api/v1/query_range"
	Params  map[string]string // without keys, signatures, timestamps and the like
	Write   bool
	Status  int    // HTTP status of the answer; 0 when the connection was cut
	Code    string // the vendor's error code, or ""
}

// Calls returns every call so far, oldest first. The caller owns the result.
func (l *Lab) Calls() []Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls := make([]Call, len(l.calls))
	for i, c := range l.calls {
		c.Params = maps.Clone(c.Params)
		calls[i] = c
	}
	return calls
}

// exchange is one call on its way through the lab.
type exchange struct {
	api    string
	params map[string]string
	write  bool
	vendor vendor
	auth   func() error                        // called alone; nil asks nothing
	run    func(now time.Time) (object, error) // called alone
}

// object is a JSON object to be.
type object map[string]any

// vendor is whose manners an answer has.
type vendor int

const (
	alicloud vendor = iota + 1
	qiniu
	prometheus
)

// apiError is an error answer.
type apiError struct {
	status int
	code   string // qiniu: digits
	text   string
}

func (e *apiError) Error() string { return e.code + ": " + e.text }

// reply is an answer about to be sent.
type reply struct {
	status int
	code   string
	kind   string // content type
	body   []byte
	cut    bool // close the connection instead
}

// serve takes one call through authentication, faults and troubles, and keeps it.
func (l *Lab) serve(rw http.ResponseWriter, r *http.Request, x exchange) {
	t := l.take(x.api)
	alive := t.Kind != Slow || wait(r.Context(), t.For)
	l.mu.Lock()
	wall := time.Now()
	now := l.opts.Clock.At(wall)
	l.world.Advance(now)
	l.requests++
	id := fmt.Sprintf("00000000-0000-4000-8000-%012X", l.requests)
	p := reply{cut: true} // the client has gone
	if alive {
		p = l.decide(x, t, now, id)
	}
	l.calls = append(l.calls, Call{Wall: wall, Virtual: now, API: x.api, Params: x.params, Write: x.write, Status: p.status, Code: p.code})
	l.mu.Unlock()
	send(rw, p, id)
}

// decide makes the answer. The lock is held.
func (l *Lab) decide(x exchange, t Trouble, now time.Time, id string) reply {
	if x.auth != nil {
		if err := x.auth(); err != nil {
			return failure(x.vendor, err, id)
		}
	}
	if p, done := t.before(x.vendor, id); done {
		return p
	}
	if x.vendor != prometheus {
		if err := l.world.Refuse(now, x.api); err != nil {
			return failure(x.vendor, err, id)
		}
	}
	if t.Kind == StaleReads && x.write {
		l.stale = staleReads{until: now.Add(t.For), state: l.world.State(now)}
	}
	body, err := x.run(now)
	if err != nil {
		return failure(x.vendor, err, id)
	}
	if x.vendor == alicloud {
		body["RequestId"] = id
	}
	return t.after(x.vendor, body, id)
}

// state is what reads see. The lock is held.
func (l *Lab) state(now time.Time) plans.State {
	if now.Before(l.stale.until) {
		return l.stale.state
	}
	return l.world.State(now)
}

func success(body object) reply {
	return reply{status: http.StatusOK, kind: "application/json", body: encode(body)}
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("lab: an answer cannot be encoded: %v", err))
	}
	return b
}

// failure spells an error as the vendor does.
func failure(v vendor, err error, id string) reply {
	e := asAPIError(v, err)
	p := reply{status: e.status, code: e.code, kind: "application/json"}
	switch v {
	case alicloud:
		p.body = encode(object{
			"RequestId": id, "HostId": "lab.example.com", "Code": e.code, "Message": e.text,
			"Recommend": "https://example.com/errors?code=" + e.code,
		})
	case qiniu:
		p.body = encode(object{"code": json.Number(e.code), "error": e.text})
	case prometheus:
		p.body = encode(object{"status": "error", "errorType": e.code, "error": e.text})
	}
	return p
}

// asAPIError gives the world's errors the status that the APIs use.
func asAPIError(v vendor, err error) *apiError {
	if e, ok := errors.AsType[*apiError](err); ok {
		return e
	}
	e, ok := errors.AsType[*providers.Error](err)
	switch {
	case !ok:
		panic(fmt.Sprintf("lab: an error without a code: %v", err))
	case v == qiniu && e.Kind == providers.Throttled:
		return &apiError{http.StatusForbidden, "403024", "too many requests"}
	case v == qiniu:
		return &apiError{http.StatusServiceUnavailable, "500000", e.Err.Error()}
	case e.Kind == providers.Transient:
		return &apiError{http.StatusServiceUnavailable, e.Code, e.Err.Error()}
	}
	return &apiError{http.StatusBadRequest, e.Code, e.Err.Error()}
}

func send(rw http.ResponseWriter, p reply, id string) {
	if p.cut {
		conn, _, err := http.NewResponseController(rw).Hijack()
		if err == nil {
			err = conn.Close()
		}
		if err == nil {
			return
		}
	}
	rw.Header().Set("Content-Type", p.kind)
	rw.Header().Set("X-Reqid", id)
	rw.WriteHeader(p.status)
	// A client that has gone away misses nothing.
	_, _ = rw.Write(p.body)
}
