package alicloud

import (
	"net/http"
	"strings"

	"github.com/tlsroll/tlsroll/providers"
)

// kindOf translates a refusal. On a write a 5xx is no refusal whatever its code says, but for throttling, which comes before any work.
func kindOf(code, message string, status int, e effect) providers.Kind {
	kind, known := kindOfCode(code, message)
	switch {
	case known && kind == providers.Throttled:
		return kind
	case status >= 500 && e == write:
		return providers.Unknown
	case known && kind == providers.Unknown:
		return e.lost()
	case known:
		return kind
	}
	return kindOfStatus(status, e)
}

// kindOfCode translates the codes of the vendor's error tables for CDN and DNS. Unknown stands for codes that do not say whether
// anything was done.
func kindOfCode(code, message string) (providers.Kind, bool) {
	switch code {
	case "Rejected.Throttling", "FlowControlError":
		return providers.Throttled, true
	case "ServiceBusy", "SignatureNonceUsed", "LastOperationNotFinished":
		return providers.Transient, true
	case "ServiceUnavailable", "InternalError", "UnknownError", "UnKnownError":
		return providers.Unknown, true
	case "ConfigurationConflicts", "StagingConfig.Failed", "DisableDNSSLB", "RecordForbidden.BlackHole", "RecordForbidden.DNSChange",
		"DomainRecordLocked", "DomainRecordDisable", "DomainRecordConflict", "DomainRecordDuplicate":
		return providers.Conflict, true
	case "IllegalOperation", "NoPermission", "NoPermission.SLR", "DomainForbidden", "DomainRecordNotBelongToUser", "IncorrectDomainUser":
		return providers.Denied, true
	case "InvalidRR.NoExist", "InvalidDomainName.NoExist":
		return providers.Missing, true
	case "PanDomainRecord", "MissingParameter":
		return providers.Invalid, true
	}
	return kindOfFamily(code, message)
}

// kindOfFamily translates codes by their first or last word.
func kindOfFamily(code, message string) (providers.Kind, bool) {
	switch {
	case code == "Throttling" || strings.HasPrefix(code, "Throttling."):
		return providers.Throttled, true
	case aboutKeys(code) || code == "Forbidden" || strings.HasPrefix(code, "Forbidden."):
		return providers.Denied, true
	// The vendor documents no code for a domain whose last change is still on its way, only the words.
	case strings.HasSuffix(code, ".Configuring") || strings.Contains(strings.ToLower(message), "domain is configuring"):
		return providers.Transient, true
	case strings.HasSuffix(code, ".NotFound"):
		return providers.Missing, true
	case strings.HasPrefix(code, "Invalid"):
		return providers.Invalid, true
	}
	return 0, false
}

// aboutKeys reports whether the code blames the keys themselves, so that no permission would help.
func aboutKeys(code string) bool {
	return strings.HasPrefix(code, "InvalidAccessKeyId") || strings.HasPrefix(code, "InvalidSecurityToken") ||
		strings.HasPrefix(code, "MissingSecurityToken") || code == "SignatureDoesNotMatch" || code == "IncompleteSignature"
}

// kindOfStatus translates an HTTP status whose code says nothing.
func kindOfStatus(status int, e effect) providers.Kind {
	switch {
	case status == http.StatusTooManyRequests:
		return providers.Throttled
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return providers.Denied
	case status == http.StatusNotFound:
		return providers.Missing
	case status == http.StatusConflict:
		return providers.Conflict
	case status >= 500 || status == http.StatusRequestTimeout:
		return e.lost()
	}
	return providers.Invalid
}
