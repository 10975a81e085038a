package alicloud_test

import (
	"fmt"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/alicloud"
)

func ExampleDNS_Describe() {
	dns, err := alicloud.NewDNS("example.com", "cdn", "default", alicloud.Options{Credentials: keys})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(dns.Describe(plans.DNSWrite{Leg: guardrails.Backup, RecordID: "9009123456790", Action: plans.SetWeight, Weight: 90}))
	fmt.Println(dns.Describe(plans.DNSWrite{Leg: guardrails.Primary, RecordID: "9009123456789", Action: plans.DisableRecord}))
	// Output:
	// alidns:UpdateDNSSLBWeight RecordId=9009123456790 Weight=90
	// alidns:SetDomainRecordStatus RecordId=9009123456789 Status=Disable
}

func ExampleCDN_DescribeTLS() {
	cdn, err := alicloud.NewCDN("cdn.example.com", alicloud.Options{Credentials: keys})
	if err != nil {
		fmt.Println(err)
		return
	}
	set := plans.TLSSettings{Enabled: plans.TLSSetOf(plans.TLS12, plans.TLS13), ConfigID: "7"}
	for _, p := range cdn.DescribeTLS(plans.TLSWrite{Set: &set}).Params {
		fmt.Println(p.Name, p.Value)
	}
	fmt.Println(cdn.DescribeTLS(plans.TLSWrite{Delete: "7"}))
	// Output:
	// DomainNames cdn.example.com
	// Functions [{"functionName":"https_tls_version","functionArgs":[{"argName":"tls10","argValue":"off"},{"argName":"tls11","argValue":"off"},{"argName":"tls12","argValue":"on"},{"argName":"tls13","argValue":"on"}],"configId":7}]
	// cdn:DeleteSpecificConfig DomainName=cdn.example.com ConfigId=7
}
