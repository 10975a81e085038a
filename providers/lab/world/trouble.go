package world

import (
	"github.com/tlsroll/tlsroll/providers"
)

// Trouble is what may become of one call of a cloud API. The kinds are those that were met in the field: reference, API fact sheet.
type Trouble int

// The troubles.
const (
	Unreachable  Trouble = iota + 1 // no connection: nothing was carried out
	ServerError                     // a 5xx: nobody knows
	Timeout                         // no answer in the time that a call may take
	EmptyAnswer                     // 200 without a body
	Throttling                      // refused for its rate
	AccessDenied                    // the permission was taken away
	ServiceBusy                     // the domain is being configured
)

// Call tells calls that change something from those that do not.
type Call int

// The kinds of calls.
const (
	Reading Call = iota + 1
	Writing
)

// Err is the error that an adapter makes of it, for a call as "alidns:UpdateDNSSLBWeight".
func (t Trouble) Err(api string, kind Call) error {
	unsure := providers.Transient
	if kind == Writing {
		unsure = providers.Unknown // it may have been carried out
	}
	switch t {
	case Unreachable:
		return refused(api, providers.Transient, "", "connection refused")
	case ServerError:
		return refused(api, unsure, "InternalError", "The request processing has failed due to some unknown error.")
	case Timeout:
		return refused(api, unsure, "", "no answer in time")
	case EmptyAnswer:
		return refused(api, unsure, "", "200 without a body")
	case Throttling:
		return refused(api, providers.Throttled, "Throttling.User", "Request was denied due to user flow control.")
	case AccessDenied:
		return refused(api, providers.Denied, "Forbidden.RAM", "User not authorized to operate on the specified resource.")
	case ServiceBusy:
		return refused(api, providers.Transient, "ServiceBusy", "The specified domain is configuring.")
	}
	return nil
}

// CarriedOut reports whether a write that meets the trouble may have been carried out all the same.
func (t Trouble) CarriedOut() bool { return t == ServerError || t == Timeout || t == EmptyAnswer }

// Unlicensed is the error of a process that may not write any more: somebody else holds the claim.
func Unlicensed() error {
	return refused("confirm the claim before a write", providers.Transient, "", "somebody else holds the claim; nothing was written")
}
