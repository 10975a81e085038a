package alicloud

import (
	"context"
	"strings"
	"time"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/requests"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/responses"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/cdn"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/providers"
)

var _ providers.Metrics = (*Monitor)(nil)

// maxSpan is the longest span that is answered in steps of one minute; longer ones come in five.
const maxSpan = 60

// Monitor is the real-time monitoring of one domain. The vendor publishes a minute about 5 minutes after it ended and leaves out
// minutes without a request. It holds no state, so several goroutines may use it.
type Monitor struct {
	account
	domain string
}

// NewMonitor returns the adapter for domain. It makes no call; the error is an *Error of kind Invalid.
func NewMonitor(domain string, o Options) (*Monitor, error) {
	a, err := newAccount(productCDN, o)
	if err != nil {
		return nil, err
	}
	if domain == "" || strings.Contains(domain, ",") {
		return nil, setupError("exactly one domain is needed: the vendor sums several")
	}
	return &Monitor{account: a, domain: domain}, nil
}

// Fetch returns rows of the primary with requests and status classes, from DescribeDomainRealTimeHttpCodeData. Longer asks are split
// into calls of an hour; when one fails, all fail.
func (m *Monitor) Fetch(ctx context.Context, from, to guardrails.Minute) ([]guardrails.Row, error) {
	return spans(from, to, func(start, end string) ([]guardrails.Row, error) {
		req := cdn.CreateDescribeDomainRealTimeHttpCodeDataRequest()
		req.DomainName, req.StartTime, req.EndTime = m.domain, start, end
		got, err := m.call(ctx, req, cdn.CreateDescribeDomainRealTimeHttpCodeDataResponse())
		if err != nil {
			return nil, err
		}
		rows, err := parseCodes(got.body, m.domain)
		if err != nil {
			return nil, got.broken(err.Error())
		}
		return rows, nil
	}, func(r guardrails.Row) guardrails.Minute { return r.Minute })
}

// QPS returns requests a second for the minutes from..to, both included, oldest first.
func (m *Monitor) QPS(ctx context.Context, from, to guardrails.Minute) ([]Point, error) {
	return spans(from, to, func(start, end string) ([]Point, error) {
		req := cdn.CreateDescribeDomainRealTimeQpsDataRequest()
		req.DomainName, req.StartTime, req.EndTime = m.domain, start, end
		return m.points(ctx, req, cdn.CreateDescribeDomainRealTimeQpsDataResponse(), parseQPS)
	}, func(p Point) guardrails.Minute { return p.Minute })
}

// Bandwidth returns bits a second for the minutes from..to, both included, oldest first.
func (m *Monitor) Bandwidth(ctx context.Context, from, to guardrails.Minute) ([]Point, error) {
	return spans(from, to, func(start, end string) ([]Point, error) {
		req := cdn.CreateDescribeDomainRealTimeBpsDataRequest()
		req.DomainName, req.StartTime, req.EndTime = m.domain, start, end
		return m.points(ctx, req, cdn.CreateDescribeDomainRealTimeBpsDataResponse(), parseBandwidth)
	}, func(p Point) guardrails.Minute { return p.Minute })
}

func (m *Monitor) points(ctx context.Context, req requests.AcsRequest, res responses.AcsResponse,
	parse func([]byte) ([]Point, error),
) ([]Point, error) {
	got, err := m.call(ctx, req, res)
	if err != nil {
		return nil, err
	}
	points, err := parse(got.body)
	if err != nil {
		return nil, got.broken(err.Error())
	}
	return points, nil
}

func (m *Monitor) call(ctx context.Context, req requests.AcsRequest, res responses.AcsResponse) (answer, error) {
	return m.do(ctx, call{product: productCDN, effect: read, request: req, response: res})
}

// spans asks for from..to in pieces of at most an hour. Whether EndTime is included is not documented, so it is taken as excluded
// and whatever lies outside a piece is dropped.
func spans[T any](from, to guardrails.Minute, ask func(start, end string) ([]T, error), minute func(T) guardrails.Minute) ([]T, error) {
	var all []T
	for start := from; start <= to; start += maxSpan {
		end := min(start+maxSpan-1, to)
		got, err := ask(start.Start().Format(time.RFC3339), end.End().Format(time.RFC3339))
		if err != nil {
			return nil, err
		}
		for _, v := range got {
			if at := minute(v); at >= start && at <= end {
				all = append(all, v)
			}
		}
	}
	return all, nil
}
