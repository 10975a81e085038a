package jsonhttp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
	"github.com/tlsroll/tlsroll/providers/jsonhttp"
)

func Example() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"data": {"items": [{"ts": %s, "os": "ios", "vendor": "ali", "count": 1200, "failed": "7"}]}}`, r.FormValue("from"))
	}))
	defer api.Close()
	source, err := jsonhttp.New(plans.Source{
		Name: "apm", URL: api.URL + "/minutes?from={from}&to={to}",
		Legs: map[string]guardrails.Leg{"ali": guardrails.Primary},
		JSON: &plans.JSON{
			Method: http.MethodGet, TimeFormat: plans.UnixSeconds, MinuteFormat: plans.UnixSeconds, Rows: "data.items",
			Fields: map[string]string{"minute": "ts", "platform": "os", "cdn": "vendor", "requests": "count", "errors": "failed"},
		},
	}, jsonhttp.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	rows, err := source.Fetch(context.Background(), 27_075_960, 27_075_960)
	for _, r := range rows {
		fmt.Println(r.Minute.Start().Format("15:04"), r.Platform, r.Leg, r.Counts.Requests, r.Counts.Errors)
	}
	fmt.Println(err)
	// Output:
	// 18:00 ios primary 1200 7
	// <nil>
}
