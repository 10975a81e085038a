package alicloud

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tlsroll/tlsroll/plans"
)

// tlsFunction is the CDN function that holds the protocol versions. Its arguments are argName's, each "on" or "off".
const tlsFunction = "https_tls_version"

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
	panic(fmt.Sprintf("alicloud: no argument for TLS version %d", v))
}

func versionOf(arg string) (plans.TLSVersion, bool) {
	for _, v := range plans.TLSVersions() {
		if argName(v) == arg {
			return v, true
		}
	}
	return 0, false
}

// parseDetail decodes DescribeCdnDomainDetail.
func parseDetail(body []byte) (plans.CDNState, error) {
	var in struct {
		Model struct {
			DomainName              text
			Cname                   text
			DomainStatus            text
			ServerCertificateStatus text
			Description             text
		} `json:"GetDomainDetailModel"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return plans.CDNState{}, errors.New("DescribeCdnDomainDetail has an unexpected shape")
	}
	m := in.Model
	if m.DomainName == "" || m.DomainStatus == "" {
		return plans.CDNState{}, errors.New("DescribeCdnDomainDetail lacks DomainName or DomainStatus")
	}
	return plans.CDNState{
		Domain:        string(m.DomainName),
		CNAME:         hostName(string(m.Cname)),
		Status:        string(m.DomainStatus),
		Online:        m.DomainStatus == "online",
		Certificate:   m.ServerCertificateStatus == "on",
		TLSReadable:   true,
		StatusMessage: string(m.Description),
	}, nil
}

// domainConfig is one entry of DescribeCdnDomainConfigs.
type domainConfig struct {
	ConfigID     text `json:"ConfigId"`
	FunctionName text
	Status       text
	FunctionArgs struct {
		FunctionArg []struct{ ArgName, ArgValue text }
	}
}

// parseTLS decodes DescribeCdnDomainConfigs. A domain without the function has the zero TLSSettings: not Explicit.
func parseTLS(body []byte) (plans.TLSSettings, error) {
	var in struct {
		DomainConfigs *struct{ DomainConfig []domainConfig }
	}
	if err := json.Unmarshal(body, &in); err != nil || in.DomainConfigs == nil {
		return plans.TLSSettings{}, errors.New("DescribeCdnDomainConfigs has an unexpected shape")
	}
	found := slices.DeleteFunc(in.DomainConfigs.DomainConfig, func(c domainConfig) bool { return c.FunctionName != tlsFunction })
	switch len(found) {
	case 0:
		return plans.TLSSettings{}, nil
	case 1:
		return found[0].settings()
	}
	return plans.TLSSettings{}, fmt.Errorf("refuse: the domain has %d configurations of %s, by rules that one flag cannot express", len(found), tlsFunction)
}

func (c domainConfig) settings() (plans.TLSSettings, error) {
	s := plans.TLSSettings{Explicit: true, ConfigID: string(c.ConfigID), Status: configStatus(string(c.Status))}
	if s.ConfigID == "" {
		return plans.TLSSettings{}, fmt.Errorf("%s has no ConfigId", tlsFunction)
	}
	seen := map[text]bool{}
	var named plans.TLSSet
	for _, a := range c.FunctionArgs.FunctionArg {
		if seen[a.ArgName] {
			return plans.TLSSettings{}, fmt.Errorf("%s names %q twice", tlsFunction, a.ArgName)
		}
		seen[a.ArgName] = true
		v, known := versionOf(string(a.ArgName))
		switch {
		case !known:
			s.Extra = append(s.Extra, plans.Arg{Name: string(a.ArgName), Value: string(a.ArgValue)})
			continue
		case a.ArgValue == "on":
			s.Enabled = s.Enabled.With(v)
		case a.ArgValue != "off":
			return plans.TLSSettings{}, fmt.Errorf("%s of %s is %q, neither on nor off", a.ArgName, tlsFunction, a.ArgValue)
		}
		named = named.With(v)
	}
	if all := plans.TLSSetOf(plans.TLSVersions()...); named != all {
		return plans.TLSSettings{}, fmt.Errorf("refuse: %s names only %s, and the API does not tell the default of the others; "+
			"set all four versions once in the console", tlsFunction, named)
	}
	slices.SortFunc(s.Extra, func(a, b plans.Arg) int { return strings.Compare(a.Name, b.Name) })
	return s, nil
}

func configStatus(word string) plans.ConfigStatus {
	switch word {
	case "success":
		return plans.ConfigLive
	case "configuring":
		return plans.ConfigPending
	case "failed":
		return plans.ConfigFailed
	}
	return plans.ConfigOther
}

// functionArg and function are the camelCase spelling that BatchSetCdnDomainConfig wants inside Functions.
type functionArg struct {
	ArgName  string `json:"argName"`
	ArgValue string `json:"argValue"`
}

type function struct {
	FunctionName string        `json:"functionName"`
	FunctionArgs []functionArg `json:"functionArgs"`
	ConfigID     int64         `json:"configId,omitempty"`
}

// functionsOf returns the Functions parameter: all four versions, oldest first, then Extra in its order.
func functionsOf(s plans.TLSSettings) (string, error) {
	if s.Enabled == 0 {
		return "", errors.New("refuse: no TLS version would be left on")
	}
	f := function{FunctionName: tlsFunction}
	for _, v := range plans.TLSVersions() {
		value := "off"
		if s.Enabled.Has(v) {
			value = "on"
		}
		f.FunctionArgs = append(f.FunctionArgs, functionArg{argName(v), value})
	}
	for _, a := range s.Extra {
		if _, known := versionOf(a.Name); known {
			return "", fmt.Errorf("the extra argument %q is a TLS version", a.Name)
		}
		f.FunctionArgs = append(f.FunctionArgs, functionArg{a.Name, a.Value})
	}
	if s.ConfigID != "" {
		id, err := configNumber(s.ConfigID)
		if err != nil {
			return "", err
		}
		f.ConfigID = id
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode([]function{f}); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// configNumber keeps a list of ids out of a call that takes one.
func configNumber(id string) (int64, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n <= 0 || strconv.FormatInt(n, 10) != id {
		return 0, fmt.Errorf("the configuration id %q is not a positive number", id)
	}
	return n, nil
}

// parseAccepted checks that BatchSetCdnDomainConfig took the function for the domain.
func parseAccepted(body []byte, domain string) error {
	var in struct {
		DomainConfigList struct {
			DomainConfigModel []struct{ DomainName, FunctionName text }
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return errors.New("BatchSetCdnDomainConfig has an unexpected shape")
	}
	for _, m := range in.DomainConfigList.DomainConfigModel {
		if m.FunctionName == tlsFunction && strings.EqualFold(string(m.DomainName), domain) {
			return nil
		}
	}
	return fmt.Errorf("BatchSetCdnDomainConfig does not list %s of %s", tlsFunction, domain)
}
