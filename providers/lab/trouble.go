package lab

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Nuisance is one way in which a call goes wrong.
type Nuisance int

// The nuisances. Where nothing else is said the call is not applied.
const (
	Unavailable        Nuisance = iota + 1 // 503
	AppliedUnavailable                     // applied, then 503
	EmptyBody                              // applied, then 200 without a body
	HTMLPage                               // 200 with a page of HTML
	HTMLGateway                            // 502 with a page of HTML
	NumericCode                            // an error whose code is a number where the API has a string
	Throttled                              // refused for the rate of calls
	Slow                                   // answered after Trouble.For of wall time
	StaleReads                             // applied, but for Trouble.For of the lab's time reads see what was before; writes only
	WrongType                              // applied, with an array where each value is expected
	NoRequestID                            // applied, without a request id
	Denied                                 // 403, the permission is missing
	CutAfterApplied                        // applied, then the connection is cut
)

// String returns a few words, as "503 after applying".
func (n Nuisance) String() string {
	names := [...]string{
		"none", "503", "503 after applying", "empty 200", "HTML 200", "HTML 502", "numeric code", "throttled", "slow",
		"stale reads", "wrong type", "no request id", "denied", "cut after applying",
	}
	if n < 0 || int(n) >= len(names) {
		return "nuisance " + strconv.Itoa(int(n))
	}
	return names[n]
}

// Trouble makes the next calls of an API go wrong.
type Trouble struct {
	API   string // as in [Call]: whole, or a prefix such as "alidns:"; "" is every API
	Kind  Nuisance
	Calls int           // how many calls; 0 is one
	For   time.Duration // Slow and StaleReads only
}

// Trouble adds to the script. Of the entries that fit a call the oldest meets it.
func (l *Lab) Trouble(ts ...Trouble) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.troubles = append(l.troubles, ts...)
}

// take returns the trouble that meets a call and counts it.
func (l *Lab) take(api string) Trouble {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.troubles {
		t := &l.troubles[i]
		if !strings.HasPrefix(api, t.API) {
			continue
		}
		met := *t
		t.Calls--
		if t.Calls <= 0 {
			l.troubles = append(l.troubles[:i], l.troubles[i+1:]...)
		}
		return met
	}
	return Trouble{}
}

// wait reports whether d passed before ctx ended.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

const page = "<!DOCTYPE html><html><head><title>Bad Gateway</title></head><body>The gateway has no answer.</body></html>"

// before is the answer of a call that is not applied.
func (t Trouble) before(v vendor, id string) (reply, bool) {
	switch t.Kind {
	case Unavailable:
		return unavailable(v, id), true
	case HTMLPage:
		return reply{status: http.StatusOK, kind: "text/html", body: []byte(page)}, true
	case HTMLGateway:
		return reply{status: http.StatusBadGateway, kind: "text/html", body: []byte(page)}, true
	case NumericCode:
		p := reply{status: http.StatusBadRequest, code: "400", kind: "application/json"}
		p.body = encode(object{"RequestId": id, "Code": 400, "Message": "the code is a number"})
		return p, true
	case Throttled:
		if v == qiniu {
			return failure(v, &apiError{http.StatusForbidden, "403024", "too many requests"}, id), true
		}
		return failure(v, &apiError{http.StatusBadRequest, "Throttling.User", "Request was denied due to user flow control."}, id), true
	case Denied:
		e := &apiError{http.StatusForbidden, "Forbidden.RAM", "User not authorized to operate on the specified resource."}
		if v == qiniu {
			e.code = "403001"
		}
		return failure(v, e, id), true
	case AppliedUnavailable, EmptyBody, Slow, StaleReads, WrongType, NoRequestID, CutAfterApplied:
	}
	return reply{}, false
}

// after is the answer of a call that is applied.
func (t Trouble) after(v vendor, body object, id string) reply {
	p := success(body)
	switch t.Kind {
	case AppliedUnavailable:
		return unavailable(v, id)
	case EmptyBody:
		p.body = nil
	case WrongType:
		for k, value := range body {
			body[k] = []any{value}
		}
		return success(body)
	case NoRequestID:
		delete(body, "RequestId")
		return success(body)
	case CutAfterApplied:
		return reply{cut: true}
	case Unavailable, HTMLPage, HTMLGateway, NumericCode, Throttled, Slow, StaleReads, Denied:
	}
	return p
}

func unavailable(v vendor, id string) reply {
	e := &apiError{http.StatusServiceUnavailable, "ServiceUnavailable", "The service is unavailable."}
	if v == qiniu {
		e.code = "500000"
	}
	return failure(v, e, id)
}
