package alicloud_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
	"github.com/tlsroll/tlsroll/providers/alicloud"
)

func configsReply(entries string) string {
	return `{"RequestId":"R","DomainConfigs":{"DomainConfig":[` + entries + `]}}`
}

func tlsEntry(id, status, args string) string {
	return `{"ConfigId":"` + id + `","FunctionName":"https_tls_version","Status":"` + status + `","FunctionArgs":{"FunctionArg":[` + args + `]}}`
}

const fourArgs = `{"ArgName":"tls13","ArgValue":"off"},{"ArgName":"tls12","ArgValue":"on"},{"ArgName":"tls11","ArgValue":"off"},{"ArgName":"tls10","ArgValue":"off"}`

func TestReadTLSSettings(t *testing.T) {
	only12 := plans.TLSSettings{Explicit: true, Enabled: plans.TLSSetOf(plans.TLS12), ConfigID: "5", Status: plans.ConfigLive}
	with := func(change func(*plans.TLSSettings)) plans.TLSSettings {
		s := only12
		change(&s)
		return s
	}
	for name, tt := range map[string]struct {
		reply string
		want  plans.TLSSettings
		kind  providers.Kind
	}{
		"all four, in any order":         {reply: tlsEntry("5", "success", fourArgs), want: only12},
		"configuring is not live":        {reply: tlsEntry("5", "configuring", fourArgs), want: with(func(s *plans.TLSSettings) { s.Status = plans.ConfigPending })},
		"failed":                         {reply: tlsEntry("5", "failed", fourArgs), want: with(func(s *plans.TLSSettings) { s.Status = plans.ConfigFailed })},
		"testing is not live":            {reply: tlsEntry("5", "testing", fourArgs), want: with(func(s *plans.TLSSettings) { s.Status = plans.ConfigOther })},
		"absent is a default":            {reply: "", want: plans.TLSSettings{}},
		"a numeric id":                   {reply: strings.Replace(tlsEntry("5", "success", fourArgs), `"5"`, `5`, 1), want: only12},
		"unknown arguments, sorted":      {reply: tlsEntry("5", "success", `{"ArgName":"z","ArgValue":"1"},`+fourArgs+`,{"ArgName":"a","ArgValue":"2"}`), want: with(func(s *plans.TLSSettings) { s.Extra = []plans.Arg{{Name: "a", Value: "2"}, {Name: "z", Value: "1"}} })},
		"two configurations are refused": {reply: tlsEntry("5", "success", fourArgs) + "," + tlsEntry("6", "success", fourArgs), kind: providers.Invalid},
		"a version left out is refused":  {reply: tlsEntry("5", "success", `{"ArgName":"tls10","ArgValue":"on"},{"ArgName":"tls13","ArgValue":"off"}`), kind: providers.Invalid},
		"a value that is neither":        {reply: tlsEntry("5", "success", strings.Replace(fourArgs, `"on"`, `"maybe"`, 1)), kind: providers.Invalid},
		"an argument twice":              {reply: tlsEntry("5", "success", fourArgs+","+fourArgs), kind: providers.Invalid},
		"a configuration without its id": {reply: tlsEntry("", "success", fourArgs), kind: providers.Invalid},
		"another shape of the arguments": {reply: `{"ConfigId":"5","FunctionName":"https_tls_version","FunctionArgs":[{"ArgName":"tls13"}]}`, kind: providers.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			c.replies["DescribeCdnDomainConfigs"] = configsReply(tt.reply)
			got, err := must(alicloud.NewCDN(domain, c.options()))(t).Read(t.Context())
			checkKind(t, err, tt.kind)
			if diff := cmp.Diff(tt.want, got.TLS); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		})
	}
}

// checkKind checks that err is nil for kind 0 and has the kind otherwise.
func checkKind(t *testing.T, err error, kind providers.Kind) {
	t.Helper()
	switch {
	case kind == 0 && err != nil:
		t.Fatalf("error: %v", err)
	case kind != 0 && err == nil:
		t.Fatalf("no error, want kind %v", kind)
	case kind != 0 && providers.KindOf(err) != kind:
		t.Fatalf("kind %v, want %v: %v", providers.KindOf(err), kind, err)
	}
}

func TestReadDomain(t *testing.T) {
	for name, tt := range map[string]struct {
		reply string
		kind  providers.Kind
		want  string
	}{
		"another domain":        {`{"RequestId":"R","GetDomainDetailModel":{"DomainName":"other.example.com","DomainStatus":"online"}}`, providers.Invalid, ""},
		"no status":             {`{"RequestId":"R","GetDomainDetailModel":{"DomainName":"cdn.example.com"}}`, providers.Invalid, ""},
		"no model":              {`{"RequestId":"R"}`, providers.Invalid, ""},
		"no RequestId":          {`{"GetDomainDetailModel":{"DomainName":"cdn.example.com","DomainStatus":"online"}}`, providers.Transient, ""},
		"configuring, no HTTPS": {`{"RequestId":"R","GetDomainDetailModel":{"DomainName":"cdn.example.com","DomainStatus":"configuring","ServerCertificateStatus":"off","Description":"wait"}}`, 0, "configuring false false wait"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			c.replies["DescribeCdnDomainDetail"] = tt.reply
			got, err := must(alicloud.NewCDN(domain, c.options()))(t).Read(t.Context())
			checkKind(t, err, tt.kind)
			if err != nil {
				return
			}
			picture := fmt.Sprint(got.Status, " ", got.Online, " ", got.Certificate, " ", got.StatusMessage)
			if picture != tt.want {
				t.Errorf("state %q, want %q", picture, tt.want)
			}
		})
	}
}

func TestSetTLSSendsAllVersionsAndExtras(t *testing.T) {
	c := newCloud(t)
	cdn := must(alicloud.NewCDN(domain, c.options()))(t)
	state, err := cdn.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w, ok := plans.NextTLSWrite(state.TLS, plans.TLSTarget{Enabled: state.TLS.Enabled.With(plans.TLS13)})
	if !ok {
		t.Fatal("nothing to write")
	}
	if err := cdn.SetTLS(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	want := `[{"functionName":"https_tls_version","functionArgs":[{"argName":"tls10","argValue":"on"},{"argName":"tls11","argValue":"on"},` +
		`{"argName":"tls12","argValue":"on"},{"argName":"tls13","argValue":"on"},{"argName":"ciphersuitegroup","argValue":"strict <&>"}],"configId":222728944812032}]`
	if diff := cmp.Diff(want, c.asked("BatchSetCdnDomainConfig")[0].Get("Functions")); diff != "" {
		t.Errorf("Functions (-want +got):\n%s", diff)
	}
}

func TestAbsentConfigurationComesBackByItsID(t *testing.T) {
	c := newCloud(t)
	c.cdn.TLS = plans.TLSSettings{}
	cdn := must(alicloud.NewCDN(domain, c.options()))(t)
	before, err := cdn.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	there, _ := plans.NextTLSWrite(before.TLS, plans.TLSTarget{Enabled: plans.TLSSetOf(plans.TLS12, plans.TLS13)})
	if err := cdn.SetTLS(t.Context(), there); err != nil {
		t.Fatal(err)
	}
	during, err := cdn.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	back, ok := plans.NextTLSWrite(during.TLS, plans.TLSTarget{Absent: true})
	if !ok {
		t.Fatal("nothing to undo")
	}
	if err := cdn.SetTLS(t.Context(), back); err != nil {
		t.Fatal(err)
	}
	after, err := cdn.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("state (-before +after):\n%s", diff)
	}
	if got := c.asked("DeleteSpecificConfig")[0].Get("ConfigId"); got != "7" {
		t.Errorf("deleted configuration %q, want the 7 that the set returned", got)
	}
}

func TestSetTLSRefusesWithoutACall(t *testing.T) {
	all := plans.TLSSetOf(plans.TLS12)
	for name, w := range map[string]plans.TLSWrite{
		"nothing to do":              {},
		"no version left":            {Set: &plans.TLSSettings{}},
		"a list of ids":              {Delete: "1,2"},
		"an id that is no number":    {Set: &plans.TLSSettings{Enabled: all, ConfigID: "x"}},
		"an extra that is a version": {Set: &plans.TLSSettings{Enabled: all, Extra: []plans.Arg{{Name: "tls13", Value: "on"}}}},
		"set and delete at once":     {Set: &plans.TLSSettings{Enabled: all}, Delete: "5"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			cdn := must(alicloud.NewCDN(domain, c.options()))(t)
			checkKind(t, cdn.SetTLS(t.Context(), w), providers.Invalid)
			if n := c.side().Requests(); n != 0 {
				t.Errorf("%d requests, want none", n)
			}
			if diff := cmp.Diff(providers.Call{}, cdn.DescribeTLS(w)); diff != "" {
				t.Errorf("description (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSetTLSThatIsNotListedIsUnknown(t *testing.T) {
	for name, list := range map[string]string{
		"empty":            ``,
		"another function": `{"ConfigId":1,"DomainName":"cdn.example.com","FunctionName":"https_option"}`,
		"another domain":   `{"ConfigId":1,"DomainName":"other.example.com","FunctionName":"https_tls_version"}`,
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			c.replies["BatchSetCdnDomainConfig"] = `{"RequestId":"R","DomainConfigList":{"DomainConfigModel":[` + list + `]}}`
			err := must(alicloud.NewCDN(domain, c.options()))(t).SetTLS(t.Context(), plans.TLSWrite{Set: &c.cdn.TLS})
			checkKind(t, err, providers.Unknown)
		})
	}
}

func TestOnlyReadCallsOfProductionAreUsed(t *testing.T) {
	c := newCloud(t)
	if _, err := must(alicloud.NewCDN(domain, c.options()))(t).Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := must(alicloud.NewDNS("example.com", "cdn", "default", c.options()))(t).Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{
		"DescribeCdnDomainDetail " + http.MethodPost, "DescribeCdnDomainConfigs " + http.MethodPost,
		"DescribeSubDomainRecords " + http.MethodPost, "DescribeDNSSLBSubDomains " + http.MethodPost, "DescribeDomainInfo " + http.MethodPost,
	}, c.methods); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	for _, q := range c.requests {
		if q.Get("FunctionNames") != "" || q.Get("RRKeyWord") != "" {
			t.Errorf("%s asks the server to filter", q.Get("Action"))
		}
	}
}
