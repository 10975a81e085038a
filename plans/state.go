package plans

import (
	"time"

	"github.com/tlsroll/tlsroll/guardrails"
)

// State is what the providers say is configured now.
type State struct {
	Primary CDNState
	Backup  CDNState
	DNS     DNSState
}

// CDNState is a domain as its CDN reports it.
type CDNState struct {
	Domain        string
	CNAME         string // host name that the DNS record must point at, without a trailing dot, lower case
	Status        string // the vendor's word, as "online" or "success"
	Online        bool   // the status is the vendor's "in service and at rest"
	Certificate   bool   // HTTPS is on with a certificate
	TLSReadable   bool   // false: the vendor has no API for TLS versions, handshakes are the only witness
	TLS           TLSSettings
	StatusMessage string
}

// DNSState is every record at the name, and whether weighting is open for them.
type DNSState struct {
	Records  []Record
	Weighted bool          // weighting is open for type CNAME on the plan's line
	MinTTL   time.Duration // smallest TTL the zone's edition allows; 0 when unknown
}

// Record is one DNS record.
type Record struct {
	ID          string
	Name        string // relative to the zone, as "cdn"
	Type        string
	Value       string // without a trailing dot, lower case
	Line        string
	TTL         time.Duration
	Weight      int
	WeightKnown bool // false: the answer had no weight, which is not a weight of 0
	Enabled     bool
	Locked      bool
	Remark      string
}

// Pair finds the primary's and the backup's record on line by the host names their CDNs report. ok is false unless each is found once.
func (s State) Pair(line string) (primary, backup Record, ok bool) {
	var np, nb int
	for _, r := range s.DNS.Records {
		if r.Line != line {
			continue
		}
		switch r.Value {
		case s.Primary.CNAME:
			primary = r
			np++
		case s.Backup.CNAME:
			backup = r
			nb++
		}
	}
	return primary, backup, np == 1 && nb == 1
}

// Weights returns the pair's weights on line; ok is false when Pair is.
func (s State) Weights(line string) (Weights, bool) {
	p, b, ok := s.Pair(line)
	return Weights{Primary: p.Weight, Backup: b.Weight, PrimaryOn: p.Enabled, BackupOn: b.Enabled}, ok
}

// Handshake is what one edge showed. It is evidence, not an opinion: a failed attempt is a Handshake with an Error.
type Handshake struct {
	Leg      guardrails.Leg
	Edge     string // ip:port
	Accepted TLSSet // versions that the edge negotiates when offered alone
	Probed   TLSSet // versions that were offered; a version that is not probed is unknown

	// The handshake of a client that speaks all versions:
	Version  TLSVersion
	Suite    string // IANA name
	Group    string // key exchange, as "X25519"; "" for RSA key transport
	ALPN     string // "h2", "http/1.1" or ""
	Sentinel bool   // a hello that stops at TLS 1.2 got the downgrade mark of RFC 8446 4.1.3: TLS 1.3 is switched on at this edge

	Names      []string // host names in the leaf certificate
	Issuer     string
	NotAfter   time.Time
	ChainError string // why the chain as sent does not verify for the domain; "" when it does

	Connect time.Duration // TCP
	TLS     time.Duration // hello sent to handshake done
	Stage   string        // where it failed: dial, hello, verify, finished; "" when it did not
	Error   string
}

// Answers are the replies of one name server to repeated queries for the name.
type Answers struct {
	Server        string
	Authoritative bool
	Primary       int // replies that pointed at the primary's host name
	Backup        int
	Other         int // replies that pointed elsewhere, or nowhere
	Failed        int // no reply in time, SERVFAIL and the like
	TTL           time.Duration
	Error         string // the last failure
}
