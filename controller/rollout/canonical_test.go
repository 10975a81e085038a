package rollout_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store/storetest"
)

// A space before it keeps a record from being read the short way, and changes nothing of what it says: both ways read the same, or neither
// reads anything.
func FuzzDecodeShortAndLong(f *testing.F) {
	for _, rec := range storetest.Records(9) {
		body, err := rollout.Encode(rec)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	for _, odd := range []string{
		`{"seq":01,"at":"2026-03-02T18:00:00Z","kind":"timer_fired","event":{"ID":5}}`,
		`{"seq":1,"at":"2026-03-02T18:00:00+08:00","kind":"timer_fired","event":{"ID":5},"seq":2}`,
		`{"seq":1,"at":"2026-03-02 18:00:00Z","kind":"timer_fired","event":{"ID":5}}`,
		`{"seq":1,"at":"2026-03-02T18:00:00Z","kind":"timer\u005ffired","event":{"ID":5}}`,
		`{"seq":1,"at":"2026-03-02T18:00:00Z","kind":"timer_fired","event":{"ID":5},"result":"done"}`,
		`{"seq":1,"at":"2026-03-02T18:00:00Z","kind":"command_succeeded","event":{"ID":5,"Result":{},"ID":6},"result":"done"}`,
		`{"seq":1,"at":"2026-03-02T18:00:00Z","kind":"command_succeeded","event":{"ID":5,"Result":null},"result":"done"}`,
		`{"seq":1,"at":"2026-03-02T18:00:00Z","kind":"abort_ordered","event":{"Reason":",\"result\":\"done"}}`,
		`{"seq":1,"at":"2026-03-02T18:00:00Z","kind":"abort_ordered","event":null}`,
		`{"seq":18446744073709551616,"at":"2026-03-02T18:00:00Z","kind":"timer_fired","event":{"ID":5}}`,
	} {
		f.Add([]byte(odd))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		short, shortErr := rollout.Decode(data)
		long, longErr := rollout.Decode(append([]byte(" "), data...))
		if (shortErr == nil) != (longErr == nil) {
			t.Fatalf("the short way says %v, the long one %v", shortErr, longErr)
		}
		if diff := cmp.Diff(long, short); diff != "" {
			t.Errorf("read otherwise (-long +short):\n%s", diff)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	var bodies [][]byte
	for _, rec := range storetest.Records(1000) {
		body, err := rollout.Encode(rec)
		if err != nil {
			b.Fatal(err)
		}
		bodies = append(bodies, body)
	}
	for i := 0; b.Loop(); i++ {
		if _, err := rollout.Decode(bodies[i%len(bodies)]); err != nil {
			b.Fatal(err)
		}
	}
}
