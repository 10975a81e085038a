package qiniu_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers"
	"github.com/tlsroll/tlsroll/providers/providertest"
	"github.com/tlsroll/tlsroll/providers/qiniu"
)

const (
	accessKey = "plantedAccessKey"
	secretKey = "planted/secret+key=="
	domain    = "cdn.example.com"
)

func keys(context.Context) (providers.Credentials, error) {
	return providers.Credentials{KeyID: providers.NewSecret(accessKey), Secret: providers.NewSecret(secretKey)}, nil
}

// request is one request as it arrived.
type request struct {
	path string
	body map[string]any
	auth string
}

// cloud is a small stand-in for the vendor's two APIs. It answers what the tests put into replies.
type cloud struct {
	url     string
	waiting chan struct{}

	mu       sync.Mutex
	fault    providertest.Fault
	requests []request
	replies  map[string]string // path -> body
	status   int
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{waiting: make(chan struct{}, 64), fault: providertest.Healthy, status: http.StatusOK, replies: map[string]string{
		"/domain/" + domain: `{"name":"cdn.example.com","type":"normal","cname":"Cdn-Example-idv0000.qiniudns.example.com.","protocol":"https","operatingState":"success",
			"operatingStateDesc":"","couldOperateBySelf":true,"https":{"certId":"c1","forceHttps":false,"http2Enable":true},"source":{}}`,
	}}
	server := httptest.NewServer(http.HandlerFunc(c.serve))
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

func (c *cloud) options() qiniu.Options {
	return qiniu.Options{Endpoint: c.url, Credentials: keys, Timeout: time.Minute}
}

func (c *cloud) patient(timeout time.Duration) qiniu.Options {
	o := c.options()
	o.Timeout = timeout
	return o
}

func (c *cloud) side() providertest.Side {
	return providertest.Side{
		Secrets:   c.secrets,
		Misbehave: func(f providertest.Fault) { c.mu.Lock(); defer c.mu.Unlock(); c.fault = f },
		Requests:  func() int { c.mu.Lock(); defer c.mu.Unlock(); return len(c.requests) },
		Writes:    func() []providers.Call { return nil },
		Waiting:   c.waiting,
	}
}

func (c *cloud) secrets() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := []string{accessKey, secretKey}
	for _, r := range c.requests {
		_, sign, _ := strings.Cut(r.auth, ":")
		all = append(all, sign)
	}
	return all
}

func (c *cloud) truth() plans.CDNState {
	return plans.CDNState{Domain: domain, CNAME: "cdn-example-idv0000.qiniudns.example.com", Status: "success", Online: true, Certificate: true}
}

func (c *cloud) serve(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	in := request{path: r.URL.Path, auth: r.Header.Get("Authorization")}
	_ = json.Unmarshal(raw, &in.body)
	c.mu.Lock()
	c.requests = append(c.requests, in)
	fault, reply, status := c.fault, c.replies[r.URL.Path], c.status
	c.mu.Unlock()
	w.Header().Set("X-Reqid", "reqid-1")
	if want := authorization(r, raw, accessKey, secretKey); in.auth != want {
		refuse(w, http.StatusUnauthorized, 401001, "bad token "+in.auth)
		return
	}
	if len(raw) > 0 && r.Header.Get("Content-Type") != "application/json" {
		refuse(w, http.StatusBadRequest, 400331, "the body is not said to be JSON")
		return
	}
	if misbehave(w, r, fault, c.waiting) {
		return
	}
	w.WriteHeader(status)
	fmt.Fprint(w, reply)
}

// authorization is what each of the two hosts wants, written from the description of the two schemes.
func authorization(r *http.Request, body []byte, access, secret string) string {
	if strings.HasPrefix(r.URL.Path, "/v2/") {
		return "QBox " + access + ":" + sign(secret, r.URL.RequestURI()+"\n")
	}
	text := r.Method + " " + r.URL.RequestURI() + "\nHost: " + r.Host + "\nContent-Type: " + r.Header.Get("Content-Type") + "\n\n"
	if r.Header.Get("Content-Type") == "application/json" {
		text += string(body)
	}
	return "Qiniu " + access + ":" + sign(secret, text)
}

func sign(secret, text string) string {
	mac := hmac.New(sha1.New, []byte(secret))
	mac.Write([]byte(text))
	return base64.URLEncoding.EncodeToString(mac.Sum(nil))
}

func refuse(w http.ResponseWriter, status, code int, message string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"code": code, "error": message})
}

// misbehave answers in place of the API; every body repeats what authorised the request.
func misbehave(w http.ResponseWriter, r *http.Request, f providertest.Fault, waiting chan<- struct{}) bool {
	echo := "asked with " + r.Header.Get("Authorization") + " and " + secretKey
	switch f {
	case providertest.PermissionDenied:
		refuse(w, http.StatusForbidden, 403001, echo)
	case providertest.TooManyCalls:
		refuse(w, http.StatusForbidden, 403024, echo)
	case providertest.Unavailable, providertest.AppliedThenUnavailable:
		refuse(w, http.StatusServiceUnavailable, 500000, echo)
	case providertest.BrokenJSON:
		fmt.Fprintf(w, `{"name":{},"data":%q}`, echo)
	case providertest.NumericCode: // the other type here is a string
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, `{"code":"500000","error":%q}`, echo)
	default:
		return providertest.Misbehave(w, r, f, waiting, echo, `{"name":"cdn.example.com",`)
	}
	return true
}
