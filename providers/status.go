package providers

import "net/http"

// KindOfStatus says what an HTTP status of a failed read means when the body does not count: 401, 403 and 407 are Denied, 404 is Missing,
// 429 is Throttled, 408 and 425 are Transient like everything that is not 4xx, and any other 4xx is Invalid.
func KindOfStatus(status int) Kind {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return Denied
	case http.StatusTooManyRequests:
		return Throttled
	case http.StatusNotFound:
		return Missing
	case http.StatusRequestTimeout, http.StatusTooEarly:
		return Transient
	}
	if status/100 == 4 {
		return Invalid
	}
	return Transient
}
