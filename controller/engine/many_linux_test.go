package engine_test

import (
	"context"
	"flag"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/tlsroll/tlsroll/controller/engine"
	"github.com/tlsroll/tlsroll/controller/rollout"
	"github.com/tlsroll/tlsroll/controller/store/sqlite"
	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/plans"
)

// controller/README.md has the figures of these sizes, and the commands.
var (
	manyRuns  = flag.Int("runs", 12, "runs in one process")
	manyHours = flag.Int("hours", 2, "simulated hours that they bake")
	manySick  = flag.Int("sick", 6, "how many then breach in one minute")
)

// Many runs in one process, each with the guardrails of the default plan, a real journal file, and a cloud and sources that cost next to
// nothing. Time is the bubble's, what is measured is the machine's: so an hour takes as long as its work. All runs look at the same second
// of a minute, which is the worst that they can do to each other.
func TestManyRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &many{t: t, fleet: fleet{sites: map[string]*site{}}, last: map[rollout.RunID]rollout.Run{}}
		defer m.begin()()
		m.await(func(r rollout.Run) bool { return r.InForce == 10 && !r.ShareOK.IsZero() })
		var before int64
		for hour := range *manyHours {
			spent, records := machineCPU(), m.records()
			await(t, 2*time.Hour, after(time.Hour))
			heap := heapInUse()
			t.Logf("hour %d: %.3f of a core, %.0f records a second, heap %d MiB, peak of the process %d MiB", hour+1,
				(machineCPU() - spent).Hours(), float64(m.records()-records)/time.Hour.Seconds(), heap>>20, peakMemory()>>20)
			if hour == 0 {
				before = heap
			} else if hour == *manyHours-1 && heap > before*5/4+otherTests {
				t.Errorf("the heap grew from %d to %d bytes after the first hour", before, heap)
			}
		}
		m.sicken()
	})
}

// after holds once so much time has passed.
func after(d time.Duration) func() bool {
	until := time.Now().Add(d)
	return func() bool { return !time.Now().Before(until) }
}

// otherTests is what the heap may vary by whatever the runs need: other tests of the package run beside this one.
const otherTests = 8 << 20

// startsAtOnce is how many runs begin in the same moment, six times a minute: each then asks for a week of minutes.
const startsAtOnce = 50

// many is a fleet that is carried.
type many struct {
	fleet

	t     *testing.T
	watch sync.Mutex
	last  map[rollout.RunID]rollout.Run
}

// begin starts the runs, and returns what ends them.
func (m *many) begin() (end func()) {
	s, err := sqlite.Open(m.t.Context(), filepath.Join(m.t.TempDir(), "journal.db"))
	if err != nil {
		m.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(m.t.Context())
	sup := engine.NewSupervisor(engine.Surroundings{
		Store: s, Holder: "one", TTL: engine.LeaseTTL, Log: zap.NewNop(), Tool: "test", Connect: m.connect,
		Tell: func(u rollout.Urgency, text string) { m.t.Error(u, text) },
		Watch: func(_, after rollout.Run, _ rollout.Record) {
			m.watch.Lock()
			defer m.watch.Unlock()
			m.last[after.ID] = after
		},
	})
	var ended sync.WaitGroup
	ended.Go(func() { _ = sup.Run(ctx) })
	for i := range *manyRuns {
		if i%startsAtOnce == 0 {
			<-time.After(10 * time.Second)
		}
		p := longPlan(m.t, i)
		first := rollout.Started{Run: rollout.RunID(p.Name), Plan: string(plans.Encode(p)), Digest: plans.Digest(p), Actor: "test", Tool: "test"}
		if err := sup.Start(m.t.Context(), p, first); err != nil {
			m.t.Fatal(err)
		}
	}
	return func() {
		cancel()
		ended.Wait()
		if err := s.Close(); err != nil {
			m.t.Error(err)
		}
	}
}

// await waits until every run is as told.
func (m *many) await(f func(rollout.Run) bool) {
	m.t.Helper()
	await(m.t, 6*time.Hour, func() bool {
		m.watch.Lock()
		defer m.watch.Unlock()
		for _, r := range m.last {
			if !f(r) {
				return false
			}
		}
		return len(m.last) == *manyRuns
	})
}

func (m *many) records() (n uint64) {
	m.watch.Lock()
	defer m.watch.Unlock()
	for _, r := range m.last {
		n += r.Seq
	}
	return n
}

// sicken lets users of some sites meet errors from one minute on, and looks when each run first writes.
func (m *many) sicken() {
	var sick []*site
	from := (guardrails.MinuteOf(time.Now()) + 1).Start()
	deciding := from.Add(11 * time.Minute) // ten minutes have breached, and the tenth has settled
	for _, s := range m.sites {
		if len(sick) == *manySick {
			break
		}
		s.mu.Lock()
		s.sick = from
		s.mu.Unlock()
		sick = append(sick, s)
	}
	<-time.After(time.Until(deciding) - time.Millisecond)
	began := machineTime()
	<-time.After(10 * time.Second)
	var took []time.Duration
	for _, s := range sick {
		s.mu.Lock()
		if s.wrote == 0 {
			m.t.Errorf("%s: no write follows its breach", s.state.Primary.Domain)
		}
		took = append(took, s.wrote-began)
		s.mu.Unlock()
	}
	if len(took) == 0 {
		return
	}
	slices.Sort(took)
	m.t.Logf("%d of %d runs breach at once; from when the deciding minute can be fetched to the first write: p50 %s, p99 %s, at most %s",
		len(took), *manyRuns, took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
}

// machineTime is the machine's time of day: a bubble's stands still while something is done.
func machineTime() time.Duration {
	var tv syscall.Timeval
	if err := syscall.Gettimeofday(&tv); err != nil {
		panic("the machine has no time of day: " + err.Error())
	}
	return time.Duration(tv.Nano())
}

func usage() syscall.Rusage {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic("the machine counts no time: " + err.Error())
	}
	return u
}

// machineCPU is what the process has computed, in all its threads.
func machineCPU() time.Duration {
	u := usage()
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakMemory is the most the process has had resident, in bytes.
func peakMemory() int64 { return usage().Maxrss << 10 }

func heapInUse() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}
