package lab

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/tlsroll/tlsroll/plans"
)

const tlsFunction = "https_tls_version"

func (l *Lab) knownDomain(name string) error {
	switch name {
	case "":
		return refusal("MissingParameter", "DomainName is mandatory for this action.")
	case l.site.domain:
		return nil
	}
	return &apiError{http.StatusNotFound, "InvalidDomain.NotFound", "The domain provided does not belong to you."}
}

func (l *Lab) describeDomain(c rpcCall) (object, error) {
	if err := l.knownDomain(c.get("DomainName")); err != nil {
		return nil, err
	}
	p := l.state(c.now).Primary
	certificate := "off"
	if p.Certificate {
		certificate = "on"
	}
	return object{"GetDomainDetailModel": object{
		"DomainName": l.site.domain, "Cname": p.CNAME, "HttpsCname": "", "DomainStatus": p.Status,
		"ServerCertificateStatus": certificate, "CdnType": "web", "Scope": "domestic", "Description": "", "ResourceGroupId": "",
		"GmtCreated": "2020-01-01T00:00:00Z", "GmtModified": "2020-01-01T00:00:00Z",
		"SourceModels": object{"SourceModel": []object{{
			"Content": "192.0.2.1", "Type": "ipaddr", "Port": 443, "Priority": "20", "Weight": "10", "Enabled": "online",
		}}},
	}}, nil
}

// describeConfigs answers with the TLS function, when it is set, among others.
func (l *Lab) describeConfigs(c rpcCall) (object, error) {
	if err := l.knownDomain(c.get("DomainName")); err != nil {
		return nil, err
	}
	configs := []object{}
	names := strings.Split(c.get("FunctionNames"), ",")
	add := func(id, function, status string, args []plans.Arg) {
		if is(c.get("ConfigId"), id) && (c.get("FunctionNames") == "" || slices.Contains(names, function)) {
			configs = append(configs, config(id, function, status, args))
		}
	}
	add("222728944810001", "https_option", "success", []plans.Arg{{Name: "http2", Value: "on"}, {Name: "https", Value: "on"}})
	if t := l.state(c.now).Primary.TLS; t.Explicit {
		add(t.ConfigID, tlsFunction, statusWord(t.Status), tlsArgs(t))
	}
	add("222728944810002", "quic", "success", []plans.Arg{{Name: "enable", Value: "off"}})
	return object{"DomainConfigs": object{"DomainConfig": configs}}, nil
}

func config(id, function, status string, args []plans.Arg) object {
	list := []object{}
	for _, a := range args {
		list = append(list, object{"ArgName": a.Name, "ArgValue": a.Value})
	}
	return object{
		"ConfigId": id, "FunctionName": function, "ParentId": "", "Status": status, "FunctionArgs": object{"FunctionArg": list},
	}
}

func statusWord(s plans.ConfigStatus) string {
	switch s {
	case plans.ConfigLive:
		return "success"
	case plans.ConfigPending:
		return "configuring"
	case plans.ConfigFailed:
		return "failed"
	case plans.ConfigOther:
	}
	return "testing"
}

// tlsArgs lists the newest version first and strangers in between: the API promises no order.
func tlsArgs(t plans.TLSSettings) []plans.Arg {
	var args []plans.Arg
	for _, v := range slices.Backward(plans.TLSVersions()) {
		value := "off"
		if t.Enabled.Has(v) {
			value = "on"
		}
		args = append(args, plans.Arg{Name: argName(v), Value: value})
		if v == plans.TLS12 {
			args = append(args, t.Extra...)
		}
	}
	return args
}

func argName(v plans.TLSVersion) string {
	switch v {
	case plans.TLS10:
		return "tls10"
	case plans.TLS11:
		return "tls11"
	case plans.TLS12:
		return "tls12"
	case plans.TLS13:
		return "tls13"
	}
	return ""
}

// function is one entry of the Functions parameter, which is JSON in a string.
type function struct {
	FunctionName string `json:"functionName"`
	FunctionArgs []struct {
		ArgName  string `json:"argName"`
		ArgValue string `json:"argValue"`
	} `json:"functionArgs"`
	ConfigID json.Number `json:"configId"`
}

func (l *Lab) setConfig(c rpcCall) (object, error) {
	if c.get("DomainNames") == "" || c.get("Functions") == "" {
		return nil, refusal("MissingParameter", "DomainNames and Functions are mandatory for this action.")
	}
	for name := range strings.SplitSeq(c.get("DomainNames"), ",") {
		if err := l.knownDomain(name); err != nil {
			return nil, err
		}
	}
	var functions []function
	if err := json.Unmarshal([]byte(c.get("Functions")), &functions); err != nil || len(functions) == 0 {
		return nil, refusal("InvalidFunctions.Malformed", "The specified Functions is incorrectly formatted.")
	}
	var models []object
	for _, f := range functions {
		if f.FunctionName != tlsFunction {
			return nil, refusal("InvalidFunctionName.ValueNotSupported", "The lab knows the function "+tlsFunction+" alone.")
		}
		set, err := settings(f)
		if err != nil {
			return nil, err
		}
		id, err := l.world.WriteTLS(c.now, plans.TLSWrite{Set: &set})
		if err != nil {
			return nil, err
		}
		models = append(models, object{"ConfigId": json.Number(id), "DomainName": l.site.domain, "FunctionName": tlsFunction})
	}
	return object{"DomainConfigList": object{"DomainConfigModel": models}}, nil
}

// settings reads the arguments of the TLS function. A version that is not named is off: a set replaces the whole list.
func settings(f function) (plans.TLSSettings, error) {
	set := plans.TLSSettings{ConfigID: f.ConfigID.String()}
	for _, a := range f.FunctionArgs {
		i := slices.IndexFunc(plans.TLSVersions(), func(v plans.TLSVersion) bool { return argName(v) == a.ArgName })
		switch {
		case i < 0:
			set.Extra = append(set.Extra, plans.Arg{Name: a.ArgName, Value: a.ArgValue})
		case a.ArgValue == "on":
			set.Enabled = set.Enabled.With(plans.TLSVersions()[i])
		case a.ArgValue != "off":
			return set, refusal("InvalidArgValue.ValueNotSupported", "The value of "+a.ArgName+" is neither on nor off.")
		}
	}
	return set, nil
}

func (l *Lab) deleteConfig(c rpcCall) (object, error) {
	if err := l.knownDomain(c.get("DomainName")); err != nil {
		return nil, err
	}
	if c.get("ConfigId") == "" {
		return nil, refusal("MissingParameter", "ConfigId is mandatory for this action.")
	}
	for id := range strings.SplitSeq(c.get("ConfigId"), ",") {
		if _, err := l.world.WriteTLS(c.now, plans.TLSWrite{Delete: id}); err != nil {
			return nil, err
		}
	}
	return object{}, nil
}
