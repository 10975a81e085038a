package plans_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/plans"
)

// healthy is a state in which a run of the canary example may start.
func healthy() plans.State {
	record := func(id, value string, weight int) plans.Record {
		return plans.Record{ID: id, Name: "cdn", Type: "CNAME", Value: value, Line: "default", TTL: time.Minute, Weight: weight, WeightKnown: true, Enabled: true}
	}
	return plans.State{
		Primary: plans.CDNState{
			Domain: "cdn.example.com", CNAME: "primary.example.net", Status: "online", Online: true, Certificate: true, TLSReadable: true,
			TLS: plans.TLSSettings{Explicit: true, Enabled: plans.TLSSetOf(plans.TLS12), Status: plans.ConfigLive},
		},
		Backup: plans.CDNState{CNAME: "backup.example.net", Status: "success", Online: true, Certificate: true},
		DNS: plans.DNSState{
			Records:  []plans.Record{record("1", "primary.example.net", 60), record("2", "backup.example.net", 40)},
			Weighted: true, MinTTL: time.Minute,
		},
	}
}

func TestCheckStateSaysWhatIsWrong(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(*plans.State)
		want  []string // where and a part of what
	}{
		{"nothing", func(*plans.State) {}, nil},
		{"primary offline", func(s *plans.State) {
			s.Primary.Online, s.Primary.Status, s.Primary.StatusMessage = false, "offline", "unpaid"
		}, []string{"primary CDN (alicloud): not in service: offline (unpaid)"}},
		{"primary without a certificate", func(s *plans.State) { s.Primary.Certificate = false }, []string{"primary CDN (alicloud): no certificate"}},
		{"backup offline and bare", func(s *plans.State) { s.Backup.Online, s.Backup.Certificate = false, false }, []string{"backup CDN (qiniu): not in service", "backup CDN (qiniu): no certificate"}},
		{"another domain", func(s *plans.State) { s.Primary.Domain = "img.example.com" }, []string{"primary CDN (alicloud): answered about img.example.com"}},
		{"TLS configuring", func(s *plans.State) { s.Primary.TLS.Status = plans.ConfigPending }, []string{"primary CDN (alicloud): not at rest: configuring"}},
		{"TLS failed", func(s *plans.State) { s.Primary.TLS.Status = plans.ConfigFailed }, []string{"primary CDN (alicloud): not at rest: failed"}},
		{"no host name", func(s *plans.State) { s.Primary.CNAME = "" }, []string{"primary CDN: no host name", "record 1: neither CDN's"}},
		{"one host name for both", func(s *plans.State) { s.Backup.CNAME = s.Primary.CNAME }, []string{"both CDNs: same host name", "record 2: neither CDN's"}},
		{"primary's record missing", func(s *plans.State) { s.DNS.Records = s.DNS.Records[1:] }, []string{"records of cdn.example.com: no CNAME record points at the primary"}},
		{"backup's record missing", func(s *plans.State) { s.DNS.Records = s.DNS.Records[:1] }, []string{"records of cdn.example.com: no CNAME record points at the backup"}},
		{"a record twice", func(s *plans.State) { s.DNS.Records = append(s.DNS.Records, s.DNS.Records[1]) }, []string{"records of cdn.example.com: more than one CNAME record points at the backup"}},
		{"a third record", func(s *plans.State) { s.DNS.Records = append(s.DNS.Records, odd("CNAME", "other.example.net")) }, []string{"record 9: points at other.example.net"}},
		{"an address beside them", func(s *plans.State) { s.DNS.Records = append(s.DNS.Records, odd("A", "192.0.2.1")) }, []string{"record 9: points at 192.0.2.1"}},
		{"another line", func(s *plans.State) {
			r := odd("CNAME", "primary.example.net")
			r.Line = "telecom"
			s.DNS.Records = append(s.DNS.Records, r)
		}, []string{"record 9: line telecom"}},
		{"a wildcard", func(s *plans.State) { s.DNS.Records[1].Name = "*" }, []string{"record 2: wildcard"}},
		{"locked", func(s *plans.State) { s.DNS.Records[0].Locked = true }, []string{"record 1: locked"}},
		{"weight absent", func(s *plans.State) { s.DNS.Records[0].Weight, s.DNS.Records[0].WeightKnown = 0, false }, []string{"record 1: not known"}},
		{"weight 0", func(s *plans.State) { s.DNS.Records[0].Weight = 0 }, []string{"record 1: weight is 0"}},
		{"weight 101", func(s *plans.State) { s.DNS.Records[0].Weight = 101 }, []string{"record 1: out of range"}},
		{"disabled primary with a weight", func(s *plans.State) { s.DNS.Records[0].Enabled = false }, []string{"record 1: disabled with a weight of more than 1"}},
		{"disabled primary with weight 1", func(s *plans.State) { s.DNS.Records[0].Enabled, s.DNS.Records[0].Weight = false, 1 }, nil},
		{"both disabled", func(s *plans.State) {
			s.DNS.Records[0].Enabled, s.DNS.Records[0].Weight, s.DNS.Records[1].Enabled = false, 1, false
		}, []string{"records of cdn.example.com: both records are disabled"}},
		{"weighting closed", func(s *plans.State) { s.DNS.Weighted = false }, []string{"records of cdn.example.com: weighting is not open"}},
		{"TTL above the plan's", func(s *plans.State) { s.DNS.Records[1].TTL = 10 * time.Minute }, []string{"record 2: above the plan's 1m"}},
		{"TTL below the zone's", func(s *plans.State) { s.DNS.Records[1].TTL = time.Second }, []string{"record 2: below the zone's smallest"}},
		{"the edition does not allow the plan's TTL", func(s *plans.State) {
			s.DNS.MinTTL = 10 * time.Minute
			s.DNS.Records[0].TTL, s.DNS.Records[1].TTL = s.DNS.MinTTL, s.DNS.MinTTL
		}, []string{"record 1: above the plan's", "record 2: above the plan's", "records of cdn.example.com: smallest TTL is 10m"}},
	} {
		s := healthy()
		test.spoil(&s)
		found := mustParse(t, example(t, "tls13-canary.yaml")).CheckState(s)
		if len(found) != len(test.want) {
			t.Errorf("%s: %d findings, want %d: %v", test.name, len(found), len(test.want), found)
			continue
		}
		for i, f := range found {
			where, what, _ := strings.Cut(test.want[i], ": ")
			if !strings.HasPrefix(f.Where, where) || !strings.Contains(f.What, what) || f.Why == "" || f.Mend == "" {
				t.Errorf("%s: got %v, want %s", test.name, f, test.want[i])
			}
		}
	}
}

func odd(kind, value string) plans.Record {
	return plans.Record{ID: "9", Name: "cdn", Type: kind, Value: value, Line: "default", TTL: time.Minute, Weight: 1, WeightKnown: true, Enabled: true}
}

func TestCheckStateFollowsThePlan(t *testing.T) {
	s := healthy()
	s.DNS.Records[0].Weight, s.DNS.Records[1].Weight = 0, 100
	p := mustParse(t, small)
	p.DNS.Zero = plans.ZeroWeight
	if found := p.CheckState(s); len(found) != 0 {
		t.Errorf("a weight of 0 is refused where zero is written so: %v", found)
	}
	s.DNS.Records[1].Weight = 0
	if found := p.CheckState(s); len(found) != 1 || !strings.Contains(found[0].What, "no weight") {
		t.Errorf("0:0 gives %v", found)
	}
	p.Change = plans.Change{Off: plans.TLSSetOf(plans.TLS12)}
	if found := p.CheckState(healthy()); len(found) != 1 || !strings.Contains(found[0].What, "would leave none") {
		t.Errorf("turning the only version off gives %v", found)
	}
	q := mustParse(t, small)
	s = healthy()
	s.Primary.TLS = plans.TLSSettings{}
	if found := q.CheckState(s); len(found) != 0 {
		t.Errorf("a domain on the default is refused: %v", found)
	}
}

func TestNotesTellWhatTheFileCannot(t *testing.T) {
	for _, test := range []struct {
		name, example string
		primary       int
		want          []string
	}{
		{"back where it was", "tls13-canary.yaml", 60, nil},
		{"ends elsewhere", "tls13-canary.yaml", 40, []string{"the run ends at a share of 60%, and started at 40%"}},
		{"in place", "tls13-in-place.yaml", 60, []string{"the change meets 60% of the traffic at once"}},
	} {
		s := healthy()
		s.DNS.Records[0].Weight, s.DNS.Records[1].Weight = test.primary, 100-test.primary
		var got []string
		for _, f := range mustParse(t, example(t, test.example)).Notes(s) {
			got = append(got, f.What)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	if notes := mustParse(t, small).Notes(plans.State{}); notes != nil {
		t.Errorf("an empty state gives %v", notes)
	}
	p := mustParse(t, small)
	p.Steps[1] = plans.Together{Steps: []plans.Step{plans.Shift{}, plans.TLS{}}}
	if notes := p.Notes(healthy()); len(notes) != 1 || !strings.Contains(notes[0].What, "ends at a share of 30%") {
		t.Errorf("a rise after a change made together with the drain gives %v", notes)
	}
	p.Steps = append([]plans.Step{plans.Shift{Primary: 80}}, p.Steps...)
	if notes := p.Notes(healthy()); len(notes) == 0 || !strings.Contains(notes[0].What, "rises from 60% to 80% before the change") {
		t.Errorf("a rise before the change gives %v", notes)
	}
}
