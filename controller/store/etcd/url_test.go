package etcd_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/controller/store/etcd"
)

func TestParseURL(t *testing.T) {
	o, err := etcd.ParseURL("etcd://a.example.com:2379,b.example.com:2379/team/tlsroll")
	if err != nil || o.Prefix != "/team/tlsroll/" || o.Client.TLS != nil {
		t.Errorf("%+v, %v", o, err)
	}
	if diff := cmp.Diff([]string{"a.example.com:2379", "b.example.com:2379"}, o.Endpoints); diff != "" {
		t.Errorf("members mismatch (-want +got):\n%s", diff)
	}
	for text, want := range map[string]string{
		"etcd://":                                  "is not host:port",
		"etcd://a.example.com":                     "is not host:port",
		"etcd://u:secret@a.example.com:2379":       "by the environment",
		"etcd://a.example.com:2379?insecure=yes":   "is not ca, cert or key",
		"etcd://a.example.com:2379?ca=/none.pem":   "etcd's CA",
		"etcd://a.example.com:2379?cert=/none.pem": "belong together",
		"sqlite:x": "does not begin with etcd://",
	} {
		_, err := etcd.ParseURL(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: want an error with %q and no secret, got %v", text, want, err)
		}
	}
}
