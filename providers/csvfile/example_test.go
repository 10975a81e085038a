package csvfile_test

import (
	"fmt"
	"strings"

	"github.com/tlsroll/tlsroll/providers/csvfile"
)

func ExampleDecode() {
	rows, err := csvfile.Decode(strings.NewReader(`minute,platform,cdn,requests,errors
2021-06-25T02:00:00+08:00,ios,primary,1200,7
2021-06-25T02:00:00+08:00,ios,backup,3400,NaN
`), csvfile.Format{Name: "rum.csv"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range rows {
		fmt.Println(r.Minute.Start().Format("15:04"), r.Platform, r.Leg, r.Counts.Errors, r.Unknown == 0)
	}
	_, err = csvfile.Decode(strings.NewReader("minute,request\n"), csvfile.Format{Name: "rum.csv"})
	fmt.Println(strings.Cut(err.Error(), ": the columns"))
	// Output:
	// 18:00 ios primary 7 true
	// 18:00 ios backup 0 false
	// rum.csv:1: column 2 is unknown ("request")  are minute, platform, cdn, requests, errors, total_ms, tls_ms, tls, bytes, tls13, status_2xx, status_4xx, status_5xx true
}
