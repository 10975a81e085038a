package qiniu

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/qiniu/go-sdk/v7/auth"

	"github.com/tlsroll/tlsroll/providers"
)

// maxDays is the longest window of one call; the log analysis takes 30 days, bandwidth 31.
const maxDays = 30

// Analytics are the analytics of one domain. It holds no state, so several goroutines may use it.
//
// Each method returns the slots that start at from or later and that ended at least the lag before now, oldest first. now is the time
// of the data, given by the caller. No slot is no proof of anything: the vendor leaves the delay of its data open.
type Analytics struct {
	account
	domain      string
	zone        *time.Location
	lag         time.Duration
	region, isp string
}

// NewAnalytics returns the adapter for domain. It makes no call; the error is an *Error of kind Invalid.
func NewAnalytics(domain string, o Options) (*Analytics, error) {
	if err := checkDomain(domain); err != nil {
		return nil, err
	}
	endpoint := o.AnalyticsEndpoint
	if endpoint == "" {
		endpoint = o.Endpoint
	}
	a, err := newAccount(o, endpoint, vendorFusion)
	if err != nil {
		return nil, err
	}
	out := &Analytics{account: a, domain: domain, zone: o.Location, lag: o.Lag, region: o.Region, isp: o.ISP}
	if out.zone == nil {
		out.zone = time.FixedZone("Asia/Shanghai", chinaOffset)
	}
	if out.lag <= 0 {
		out.lag = defaultLag
	}
	if out.region == "" {
		out.region = "global"
	}
	if out.isp == "" {
		out.isp = "all"
	}
	return out, nil
}

// logQuery is the body of the log analysis. The vendor's pages disagree on the name of the region, so each call sends its page's.
type logQuery struct {
	Domains   []string `json:"domains"`
	Freq      string   `json:"freq"`
	Regions   []string `json:"regions,omitempty"`
	Region    string   `json:"region,omitempty"`
	ISP       string   `json:"isp"`
	StartDate string   `json:"startDate"`
	EndDate   string   `json:"endDate"`
}

// StatusCodes returns answers by class.
func (a *Analytics) StatusCodes(ctx context.Context, from, now time.Time) ([]Codes, error) {
	return windows(a, from, now, func(first, last string) ([]Codes, error) {
		return fetch(ctx, a.account, call{
			op: "fusion:statuscode", action: "cdn/GetStateCode", path: "/v2/tune/loganalyze/statuscode",
			body: logQuery{Domains: []string{a.domain}, Freq: "5min", Regions: []string{a.region}, ISP: a.isp, StartDate: first, EndDate: last},
		}, func(body []byte) ([]Codes, error) { return parseStatusCodes(body, a.zone) })
	}, func(c Codes) time.Time { return c.Start })
}

// ReqCount returns requests a slot.
func (a *Analytics) ReqCount(ctx context.Context, from, now time.Time) ([]Slot, error) {
	return windows(a, from, now, func(first, last string) ([]Slot, error) {
		return fetch(ctx, a.account, call{
			op: "fusion:reqcount", action: "cdn/GetReqCount", path: "/v2/tune/loganalyze/reqcount",
			body: logQuery{Domains: []string{a.domain}, Freq: "5min", Region: a.region, ISP: a.isp, StartDate: first, EndDate: last},
		}, func(body []byte) ([]Slot, error) { return parseRequests(body, a.zone) })
	}, func(s Slot) time.Time { return s.Start })
}

// Bandwidth returns bits a second, as the vendor bills them.
func (a *Analytics) Bandwidth(ctx context.Context, from, now time.Time) ([]Slot, error) {
	type query struct {
		StartDate   string `json:"startDate"`
		EndDate     string `json:"endDate"`
		Granularity string `json:"granularity"`
		Domains     string `json:"domains"`
	}
	return windows(a, from, now, func(first, last string) ([]Slot, error) {
		return fetch(ctx, a.account, call{
			op: "fusion:bandwidth", action: "cdn/GetBandwidthAndFlux", path: "/v2/tune/bandwidth",
			body: query{StartDate: first, EndDate: last, Granularity: "5min", Domains: a.domain},
		}, func(body []byte) ([]Slot, error) { return parseBandwidth(body, a.domain, a.zone) })
	}, func(s Slot) time.Time { return s.Start })
}

func fetch[T any](ctx context.Context, a account, c call, parse func([]byte) ([]T, error)) ([]T, error) {
	c.scheme, c.method = auth.TokenQBox, http.MethodPost
	f, body, err := a.do(ctx, c)
	if err != nil {
		return nil, err
	}
	got, err := parse(body)
	if err != nil {
		return nil, f.as(providers.Invalid, err.Error())
	}
	return got, nil
}

// windows asks for whole days, which is all that the vendor takes, in pieces that it takes, and keeps the slots that were asked for.
func windows[T any](a *Analytics, from, now time.Time, ask func(first, last string) ([]T, error), start func(T) time.Time) ([]T, error) {
	var all []T
	newest := now.Add(-a.lag - slotLength)
	end := newest.In(a.zone)
	for day := midnight(from.In(a.zone)); !day.After(end); day = day.AddDate(0, 0, maxDays) {
		last := day.AddDate(0, 0, maxDays-1)
		if last.After(end) {
			last = end
		}
		got, err := ask(day.Format(time.DateOnly), last.Format(time.DateOnly))
		if err != nil {
			return nil, err
		}
		all = append(all, slices.DeleteFunc(got, func(v T) bool { return start(v).Before(from) || start(v).After(newest) })...)
	}
	return all, nil
}

func midnight(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, t.Location())
}
