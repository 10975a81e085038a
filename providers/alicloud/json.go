package alicloud

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// text is a scalar that the vendor writes as a string in one answer and as a number or a boolean in another. null is "".
type text string

// UnmarshalJSON takes any scalar and refuses objects and arrays.
func (t *text) UnmarshalJSON(raw []byte) error {
	raw = bytes.TrimSpace(raw)
	switch {
	case bytes.Equal(raw, []byte("null")):
		*t = ""
	case raw[0] == '"':
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return err
		}
		*t = text(s)
	case raw[0] == '{' || raw[0] == '[':
		return fmt.Errorf("a scalar is expected, not %c", raw[0])
	default:
		*t = text(raw)
	}
	return nil
}

// integer returns the value as a whole number in 0..most.
func (t text) integer(name string, most int64) (int64, error) {
	n, err := strconv.ParseInt(string(t), 10, 64)
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("%s is %q, not a whole number in 0..%d", name, string(t), most)
	}
	return n, nil
}

// truth returns the value as a boolean; absent is false.
func (t text) truth(name string) (bool, error) {
	switch {
	case strings.EqualFold(string(t), "true"):
		return true, nil
	case t == "" || strings.EqualFold(string(t), "false"):
		return false, nil
	}
	return false, fmt.Errorf("%s is %q, not a boolean", name, string(t))
}

// count returns the value rounded to a whole number, and false when it is none: not a number, negative, or beyond what sums exactly.
func (t text) count() (float64, bool) {
	f, err := strconv.ParseFloat(string(t), 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > 1e12 {
		return 0, false
	}
	return math.Round(f), true
}

// instant returns the value as a time of RFC 3339 in UTC.
func (t text) instant() (time.Time, error) {
	at, err := time.Parse(time.RFC3339, string(t))
	if err != nil {
		return time.Time{}, fmt.Errorf("TimeStamp %q is not a time of RFC 3339", string(t))
	}
	return at.UTC(), nil
}

// hostName returns a host name as the contract spells it: lower case, no trailing dot.
func hostName(s string) string { return strings.ToLower(strings.TrimRight(s, ".")) }
