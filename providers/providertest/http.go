package providertest

import (
	"fmt"
	"net/http"
	"strings"
)

// Misbehave answers a request with a fault that looks the same whatever API is spoken, and reports whether f is one: an empty answer, a web
// page, a stall, a cut, an endless answer, a redirect. echo is what the page repeats of the request, secrets included; beginning is how a
// good answer would begin. A stall is announced on waiting and ends with the request.
func Misbehave(w http.ResponseWriter, r *http.Request, f Fault, waiting chan<- struct{}, echo, beginning string) bool {
	switch f {
	case EmptyAnswer:
		w.WriteHeader(http.StatusOK)
	case WebPage:
		fmt.Fprint(w, "<html>"+echo+"</html>")
	case Stalled:
		waiting <- struct{}{}
		<-r.Context().Done()
	case Cut:
		cut(w)
	case CutBody:
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, beginning)
		cut(w)
	case Oversized:
		for range 16 {
			fmt.Fprint(w, strings.Repeat(" ", 1<<20))
		}
		<-r.Context().Done()
	case Redirected:
		http.Redirect(w, r, "http://"+r.Host+"/elsewhere?"+r.URL.RawQuery, http.StatusFound) //nolint:gosec // a redirect that leaks is the fault
	case Healthy, PermissionDenied, TooManyCalls, Unavailable, AppliedThenUnavailable, BrokenJSON, NumericCode:
		return false
	default: // no fault was set
		return false
	}
	return true
}

// cut ends the connection under an answer.
func cut(w http.ResponseWriter) {
	rc := http.NewResponseController(w)
	_ = rc.Flush() // whether what was written so far arrives is not the point
	if conn, _, err := rc.Hijack(); err == nil {
		_ = conn.Close()
	}
}
