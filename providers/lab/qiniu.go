package lab

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // the API signs with it
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"time"
)

const (
	formType = "application/x-www-form-urlencoded"
	jsonType = "application/json"
)

// serveQiniu serves both hosts of Qiniu: /domain/ with Qiniu signatures and /v2/tune/ with QBox signatures.
func (l *Lab) serveQiniu(rw http.ResponseWriter, r *http.Request) {
	body, readErr := io.ReadAll(http.MaxBytesReader(rw, r.Body, maxBody))
	x := exchange{api: "qiniu:" + r.URL.Path, vendor: qiniu, params: map[string]string{}}
	if len(body) > 0 {
		x.params["body"] = string(body)
	}
	scheme := "Qiniu"
	switch {
	case strings.HasPrefix(r.URL.Path, "/domain/") && r.Method == http.MethodGet:
		x.run = func(now time.Time) (object, error) {
			return l.qiniuDomain(now, strings.TrimPrefix(r.URL.Path, "/domain/"))
		}
	case strings.HasPrefix(r.URL.Path, "/v2/tune/") && r.Method == http.MethodPost:
		scheme = "QBox"
		x.run = func(now time.Time) (object, error) {
			return l.qiniuTune(now, strings.TrimPrefix(r.URL.Path, "/v2/tune/"), body)
		}
	default:
		x.run = func(time.Time) (object, error) {
			return nil, &apiError{http.StatusNotFound, "404000", "no such interface"}
		}
	}
	x.auth = func() error {
		if readErr != nil {
			return &apiError{http.StatusBadRequest, "400331", "the body cannot be read"}
		}
		return l.qiniuAuth(scheme, r, body)
	}
	l.serve(rw, r, x)
}

func (l *Lab) qiniuAuth(scheme string, r *http.Request, body []byte) error {
	given, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if given != scheme || token == "" {
		return &apiError{http.StatusUnauthorized, "401002", "the authorization header is not a " + scheme + " one"}
	}
	data := qboxData(r, body)
	if scheme == "Qiniu" {
		data = qiniuData(r, body)
	}
	if !hmac.Equal([]byte(token), []byte(qiniuToken(l.opts.QiniuKey, l.opts.QiniuSecret, data))) {
		return &apiError{http.StatusUnauthorized, "401001", "bad token"}
	}
	return nil
}

func qiniuToken(key, secret string, data []byte) string {
	mac := hmac.New(sha1.New, []byte(secret))
	mac.Write(data)
	return key + ":" + base64.URLEncoding.EncodeToString(mac.Sum(nil))
}

// qboxData is what a QBox signature covers.
func qboxData(r *http.Request, body []byte) []byte {
	var b bytes.Buffer
	b.WriteString(target(r) + "\n")
	if r.Header.Get("Content-Type") == formType {
		b.Write(body)
	}
	return b.Bytes()
}

// qiniuData is what a Qiniu (V2) signature covers.
func qiniuData(r *http.Request, body []byte) []byte {
	kind := r.Header.Get("Content-Type")
	if kind == "" {
		kind = formType
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s\nHost: %s\nContent-Type: %s\n", r.Method, target(r), r.Host, kind)
	for _, k := range slices.Sorted(maps.Keys(r.Header)) {
		if name := textproto.CanonicalMIMEHeaderKey(k); strings.HasPrefix(name, "X-Qiniu-") && len(name) > len("X-Qiniu-") {
			for _, v := range slices.Sorted(slices.Values(r.Header[k])) {
				fmt.Fprintf(&b, "%s: %s\n", name, v)
			}
		}
	}
	b.WriteByte('\n')
	if kind == formType || kind == jsonType {
		b.Write(body)
	}
	return b.Bytes()
}

func target(r *http.Request) string {
	if r.URL.RawQuery == "" {
		return r.URL.Path
	}
	return r.URL.Path + "?" + r.URL.RawQuery
}

func (l *Lab) qiniuDomain(now time.Time, name string) (object, error) {
	if name != l.site.domain {
		return nil, &apiError{http.StatusNotFound, "404001", "no such domain"}
	}
	b := l.state(now).Backup
	certificate := ""
	if b.Certificate {
		certificate = "5f00000000000000000000aa"
	}
	return object{
		"name": name, "type": "normal", "cname": b.CNAME, "testURLPath": "ping", "protocol": "https", "platform": "web",
		"geoCover": "china", "operationType": "sslize", "operatingState": b.Status, "operatingStateDesc": b.StatusMessage,
		"createAt": "2020-01-01T00:00:00+08:00", "modifyAt": "2020-01-01T00:00:00+08:00", "couldOperateBySelf": true,
		"https":  object{"certId": certificate, "forceHttps": false, "http2Enable": true},
		"source": object{},
	}, nil
}

// tuneQuery is the body of an analytics or a usage call. The two spell domains and granularity differently.
type tuneQuery struct {
	Start       string          `json:"startDate"`
	End         string          `json:"endDate"`
	Domains     json.RawMessage `json:"domains"`
	Freq        string          `json:"freq"`
	Granularity string          `json:"granularity"`
}

func (l *Lab) qiniuTune(now time.Time, path string, body []byte) (object, error) {
	var q tuneQuery
	err := json.Unmarshal(body, &q)
	switch path {
	case "bandwidth", "flux":
		if err != nil {
			return nil, &apiError{http.StatusBadRequest, "400031", "the parameters cannot be read"}
		}
		return l.usage(now, path, q)
	case "loganalyze/statuscode", "loganalyze/reqcount":
		if err != nil {
			return nil, &apiError{http.StatusBadRequest, "400331", "the parameters cannot be read"}
		}
		return l.analytics(now, path, q)
	}
	return nil, &apiError{http.StatusNotFound, "404000", "no such interface"}
}

func (l *Lab) analytics(now time.Time, path string, q tuneQuery) (object, error) {
	const code = "400331"
	var domains []string
	if err := json.Unmarshal(q.Domains, &domains); err != nil || len(domains) == 0 {
		return nil, &apiError{http.StatusBadRequest, code, "domains is not a list"}
	}
	if slices.ContainsFunc(domains, func(d string) bool { return d != l.site.domain }) {
		return nil, &apiError{http.StatusBadRequest, "400054", "invalid domain"}
	}
	length, ok := map[string]time.Duration{"5min": 5 * time.Minute, "1hour": time.Hour, "1day": 24 * time.Hour}[q.Freq]
	if !ok {
		return nil, &apiError{http.StatusBadRequest, code, "invalid freq"}
	}
	slots, err := l.slots(now, q, length, 30*24*time.Hour, code)
	if err != nil {
		return nil, err
	}
	if path == "loganalyze/statuscode" {
		return object{"code": 200, "error": "", "data": statusCodes(slots)}, nil
	}
	counts := []int64{}
	for _, s := range slots {
		counts = append(counts, int64(s.sum.Total()))
	}
	return object{"code": 200, "error": "", "data": object{"points": labels(slots), "reqCount": counts}}, nil
}

// usage answers with bytes (flux) or bits a second (bandwidth).
func (l *Lab) usage(now time.Time, path string, q tuneQuery) (object, error) {
	var domains string
	if err := json.Unmarshal(q.Domains, &domains); err != nil {
		return nil, &apiError{http.StatusBadRequest, "400031", "domains is not a string"}
	}
	if domains != l.site.domain {
		return nil, &apiError{http.StatusBadRequest, "400032", "invalid host"}
	}
	length, ok := map[string]time.Duration{"5min": 5 * time.Minute, "hour": time.Hour, "day": 24 * time.Hour}[q.Granularity]
	if !ok {
		return nil, &apiError{http.StatusBadRequest, "400031", "invalid granularity"}
	}
	slots, err := l.slots(now, q, length, 31*24*time.Hour, "400080")
	if err != nil {
		return nil, err
	}
	times, values, traffic := []string{}, []int64{}, false
	for _, s := range slots {
		n := s.sum.Bytes
		traffic = traffic || n > 0
		if path == "bandwidth" {
			n = 8 * n / length.Seconds()
		}
		times, values = append(times, s.start.Format("2006-01-02 15:04:05")), append(values, int64(n))
	}
	data := object{}
	if traffic {
		data[l.site.domain] = object{"china": values, "oversea": make([]int64, len(values))}
	}
	return object{"code": 200, "error": "", "time": times, "data": data}, nil
}
