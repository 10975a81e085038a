package world

import (
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
)

// hours is a daily curve: the value at each full hour of the civil day, in a straight line between them.
type hours [25]float64

func (h *hours) at(hour, minute int) float64 {
	return h[hour] + (h[hour+1]-h[hour])*float64(minute)/60
}

// demandCurve is the demand as a share of the peak. It falls by a fifth an hour around 02:00, where it is about a third, and peaks at
// 14:00.
func demandCurve() hours {
	return hours{
		0.60, 0.48, 0.39, 0.32, 0.28, 0.27, 0.33, 0.45, 0.60, 0.75, 0.86, 0.93,
		0.97, 0.99, 1.00, 0.98, 0.96, 0.94, 0.93, 0.94, 0.95, 0.93, 0.85, 0.73, 0.60,
	}
}

// riseCurve is the part of Config.NightRise that is there: caches are coldest before the morning.
func riseCurve() hours {
	return hours{2: 0, 3: 0.25, 4: 0.5, 5: 0.75, 6: 1, 7: 0.8, 8: 0.6, 9: 0.4, 10: 0.2, 11: 0}
}

// weather is what a minute owes to its day and its hour: the demand as a share of the peak, and times as multiples of the usual ones.
func (w *World) weather(m guardrails.Minute) (demand, times float64) {
	at := m.Start().In(w.cfg.Location)
	d, r := demandCurve(), riseCurve()
	demand = d.at(at.Hour(), at.Minute())
	times = 1 + w.cfg.NightRise*r.at(at.Hour(), at.Minute())
	if day := civilDay(at); day != w.today {
		demand *= w.dayFactor(day, forDayDemand, w.cfg.DayDemand)
		times *= w.dayFactor(day, forDayTimes, w.cfg.DayTimes)
	}
	return demand, times
}

// dayFactor is one number for all minutes of a day, around 1. It leaves the generator seeded with the day.
func (w *World) dayFactor(day int64, purpose uint64, sd float64) float64 {
	if sd == 0 {
		return 1
	}
	w.seed(day, purpose)
	return max(0.1, 1+sd*w.rnd.NormFloat64())
}

// civilDay numbers the days of the calendar, as the clock on the wall shows them.
func civilDay(at time.Time) int64 {
	const day = 24 * 60 * 60
	y, m, d := at.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / day
}
