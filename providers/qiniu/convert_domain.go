package qiniu

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/tlsroll/tlsroll/plans"
)

// parseDomain decodes GET /domain/NAME.
func parseDomain(body []byte) (plans.CDNState, error) {
	var in struct {
		Name               string `json:"name"`
		CNAME              string `json:"cname"`
		Protocol           string `json:"protocol"`
		OperatingState     string `json:"operatingState"`
		OperatingStateDesc string `json:"operatingStateDesc"`
		HTTPS              struct {
			CertID string `json:"certId"`
		} `json:"https"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return plans.CDNState{}, errors.New("the domain has an unexpected shape")
	}
	if in.Name == "" || in.OperatingState == "" {
		return plans.CDNState{}, errors.New("the domain lacks name or operatingState")
	}
	return plans.CDNState{
		Domain:        in.Name,
		CNAME:         strings.ToLower(strings.TrimRight(in.CNAME, ".")),
		Status:        in.OperatingState,
		Online:        in.OperatingState == "success",
		Certificate:   in.Protocol == "https" && in.HTTPS.CertID != "",
		StatusMessage: in.OperatingStateDesc,
	}, nil
}
