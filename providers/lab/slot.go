package lab

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/providers/lab/world"
)

// slot is one point of Qiniu's figures.
type slot struct {
	start time.Time // in the zone of the labels
	sum   world.CodeMinute
}

// When Qiniu's slots fill up, counted from their end: nothing, then a part, then all.
const (
	slotBegins   = 5 * time.Minute
	slotComplete = 15 * time.Minute
	slotPart     = 0.6
)

// qiniuZone is the zone of dates and labels.
func qiniuZone() *time.Location { return time.FixedZone("Asia/Shanghai", 8*3600) }

// slots returns the slots of whole days up to now. The newest are listed before they have figures.
func (l *Lab) slots(now time.Time, q tuneQuery, length, most time.Duration, code string) ([]slot, error) {
	from, err1 := time.ParseInLocation(time.DateOnly, q.Start, qiniuZone())
	to, err2 := time.ParseInLocation(time.DateOnly, q.End, qiniuZone())
	if err1 != nil || err2 != nil || to.Before(from) || to.Sub(from) >= most {
		return nil, &apiError{http.StatusBadRequest, code, "invalid dates"}
	}
	to = to.AddDate(0, 0, 1)
	var list []slot
	for at := from; at.Before(to) && !at.After(now); at = at.Add(length) {
		list = append(list, slot{start: at})
	}
	first := guardrails.MinuteOf(from)
	for _, m := range l.world.Final(now, guardrails.Backup, first, guardrails.MinuteOf(to)-1) {
		i := int(time.Duration(m.Minute-first) * time.Minute / length)
		list[i].sum = list[i].sum.Add(m)
	}
	for i := range list {
		age := now.Sub(list[i].start.Add(min(length, 5*time.Minute)))
		switch {
		case length > 5*time.Minute, age >= slotComplete:
		case age < slotBegins:
			list[i].sum = world.CodeMinute{}
		default:
			list[i].sum = partial(list[i].sum)
		}
	}
	return list, nil
}

func partial(m world.CodeMinute) world.CodeMinute {
	part := world.CodeMinute{Bytes: math.Floor(m.Bytes * slotPart)}
	for _, k := range m.Codes {
		k.Count = math.Floor(k.Count * slotPart)
		part.Codes = append(part.Codes, k)
	}
	return part
}

func labels(slots []slot) []string {
	names := []string{}
	for _, s := range slots {
		names = append(names, s.start.Format("2006-01-02-15-04"))
	}
	return names
}

func statusCodes(slots []slot) object {
	codes := map[string][]int64{}
	for i, s := range slots {
		for _, k := range s.sum.Codes {
			name := strconv.Itoa(k.Status)
			if codes[name] == nil {
				codes[name] = make([]int64, len(slots))
			}
			codes[name][i] = int64(k.Count)
		}
	}
	return object{"points": labels(slots), "codes": codes}
}
