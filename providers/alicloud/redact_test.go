package alicloud_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/providers/alicloud"
)

func TestScrub(t *testing.T) {
	for name, tt := range map[string]struct {
		text    string
		secrets []string
		want    string
	}{
		"a plain message":                    {"Is it right? The weight is 5.", nil, "Is it right? The weight is 5."},
		"the query of a URL":                 {`Get "https://cdn.example.com/?Action=X&Foo=bar": EOF`, nil, `Get "https://cdn.example.com/?...": EOF`},
		"two URLs":                           {"https://a.example.com/?x=1 https://b.example.com/?y=2", nil, "https://a.example.com/?... https://b.example.com/?..."},
		"a parameter":                        {"AccessKeyId=abc&Action=X", nil, "AccessKeyId=[secret]&Action=X"},
		"parameters of a string-to-sign":     {"POST&%2F&AccessKeyId%3Dabc%26Action%3DX%26SecurityToken%3Dt%252F", nil, "POST&%2F&AccessKeyId%3D[secret]%26Action%3DX%26SecurityToken%3D[secret]"},
		"escaped twice":                      {"Signature%253Dabc%2526Action", nil, "Signature%253D[secret]%2526Action"},
		"the nonce, not half of it":          {"SignatureNonce=7&Signature=8", nil, "SignatureNonce=[secret]&Signature=[secret]"},
		"a name without a value":             {"The AccessKeyId is unknown.", nil, "The AccessKeyId is unknown."},
		"a secret":                           {"key k+/=y here", []string{"k+/=y"}, "key [secret] here"},
		"a secret escaped once, twice, JSON": {`k%2B%2F%3Dy k%252B%252F%253Dy a\u0026b`, []string{"k+/=y", "a&b"}, "[secret] [secret] [secret]"},
		"a key inside a longer secret":       {"LTAI-and-more", []string{"LTAI", "LTAI-and-more"}, "[secret]"},
		"lines and controls":                 {"a\r\nb\x00c", nil, "a  b c"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, alicloud.Scrub(tt.text, tt.secrets)); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
	if got := alicloud.Scrub(strings.Repeat("é", 1000), nil); len(got) != 304 || !strings.HasSuffix(got, "é ...") {
		t.Errorf("a long text became %d bytes: %q", len(got), got)
	}
}
