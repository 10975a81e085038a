package plans

// kind is the grammar of a value in the file.
type kind int

const (
	kindText kind = iota + 1
	kindName
	kindDomain
	kindWord // one of key.words
	kindSwitch
	kindCount
	kindUnsigned
	kindSigned
	kindPoints
	kindOfExpected
	kindAbove
	kindDuration
	kindMinutes
	kindClock
	kindInstant
	kindURL
	kindAddresses
	kindCredentials
	kindPath  // into JSON
	kindTexts // a text, or a list of them
	kindWords // a list of key.words
	kindBake  // a duration, or a block
	kindBlock
	kindBlocks  // a list of blocks
	kindNamed   // a block of named blocks
	kindChoices // a list of blocks with one key each
)

// key describes one key of the file. The tree of keys is the one place that knows names and meanings: Parse, Schema and Explain read it.
type key struct {
	name     string
	kind     kind
	text     string // one or two sentences
	required bool
	fallback string // the default in the author's words, or ""
	words    []string
	keys     []key
}

// find returns the key of that name.
func find(keys []key, name string) (key, bool) {
	for _, k := range keys {
		if k.name == name {
			return k, true
		}
	}
	return key{}, false
}

// names lists the names of keys.
func names(keys []key) []string {
	all := make([]string, 0, len(keys))
	for _, k := range keys {
		all = append(all, k.name)
	}
	return all
}

func planKeys() []key {
	return []key{
		{name: "version", kind: kindWord, required: true, words: []string{Version}, text: "The language of this file."},
		{name: "name", kind: kindName, required: true, text: "The name of the change: lower case letters, digits and dashes. Runs are named after it."},
		{name: "domain", kind: kindDomain, required: true, text: "The domain whose TLS versions change and whose traffic moves."},
		{name: "ticket", kind: kindText, text: "The change ticket, printed wherever the plan is."},
		{name: "owners", kind: kindTexts, text: "Who answers for the change."},
		{name: "schedule", kind: kindBlock, keys: scheduleKeys(), text: "When a run may start, and until when it may raise exposure. Without at and cron a person starts it."},
		{name: "primary", kind: kindBlock, required: true, keys: cdnKeys([]string{"alicloud"}), text: "The CDN that carries the change: the leg under test."},
		{name: "backup", kind: kindBlock, required: true, keys: cdnKeys([]string{"qiniu"}), text: "The other CDN: the control, and the leg that the way back fills."},
		{name: "dns", kind: kindBlock, required: true, keys: dnsKeys(), text: "The weighted pair of CNAME records that shares the traffic out."},
		{name: "change", kind: kindBlock, required: true, keys: changeKeys(), text: "The TLS versions to turn on or off on the primary. Versions that are not named stay as they are."},
		{name: "expect", kind: kindBlock, keys: expectKeys(), text: "What the change should bring. The report judges it; it never decides."},
		{name: "sources", kind: kindNamed, required: true, keys: sourceKeys(), text: "Where minutes of data come from, by a name that guardrails use."},
		{name: "guardrails", kind: kindBlocks, required: true, keys: guardrailKeys(), text: "The rules judged on every minute. A breach starts the way back."},
		{name: "hold_limit", kind: kindDuration, fallback: "60m", text: "A hold that nobody resolves in this time rolls back."},
		{name: "on_drift", kind: kindWord, fallback: "hold", words: []string{"hold", "rollback"}, text: "What to do when somebody else changes the weights or the TLS versions during a run."},
		{name: "on_blind", kind: kindWord, fallback: "rollback", words: []string{"hold", "rollback"}, text: "What to do when a source has had no data about either CDN for 15 minutes."},
		{name: "common_cause_limit", kind: kindDuration, fallback: "20m", text: "A breach that the backup shows too holds and pages; when it lasts this long, the run rolls back."},
		{name: "rehearse", kind: kindSwitch, fallback: "on", text: "Write the present weight before the first step, to prove the permission to write."},
		{name: "steps", kind: kindChoices, required: true, keys: stepKeys(), text: "What a run does, in order. A preflight always comes first."},
		{name: "rollback", kind: kindChoices, keys: rollbackKeys(), text: "The way back. It ends at the weights observed at the start, whatever they were.", fallback: "drain and restore together, verify, then the shares of steps in rising order"},
	}
}

func scheduleKeys() []key {
	return []key{
		{name: "at", kind: kindInstant, text: "When to start, as a clock time in timezone. Write the offset too when the clock shows that time twice."},
		{name: "cron", kind: kindText, text: "When to start, as five cron fields in timezone. Excludes at."},
		{name: "timezone", kind: kindText, fallback: "UTC when no time of day is given", text: "The time zone of every time of day in the plan, as Asia/Shanghai. Needed with at, cron, advance_until and observe.until."},
		{name: "start_deadline", kind: kindDuration, fallback: "15m", text: "A start that is later than this is missed, never late."},
		{name: "advance_until", kind: kindClock, text: "The first such clock time after the start: from then on no step raises the share. Quote it."},
	}
}

func cdnKeys(providers []string) []key {
	return []key{
		{name: "provider", kind: kindWord, required: true, words: providers, text: "The vendor."},
		{name: "credentials", kind: kindCredentials, fallback: "env", text: "Where the keys are: env, file:PATH, exec:COMMAND, systemd:NAME or chain. Never the keys themselves."},
		{name: "endpoint", kind: kindURL, fallback: "the vendor's", text: "The whole URL of the API."},
		{name: "analytics_endpoint", kind: kindURL, fallback: "endpoint, or the vendor's", text: "The whole URL of the analytics API. Only qiniu has one."},
		{name: "region", kind: kindText, fallback: "cn-hangzhou", text: "The region of the API. Only alicloud has one."},
		{name: "edges", kind: kindAddresses, fallback: "what the DNS answers for the CDN's own host name", text: "The edges to prove TLS on, as host:port."},
		{name: "ca", kind: kindText, fallback: "the system's", text: "A PEM file of the authorities that certificates are verified against."},
		{name: "max_share", kind: kindUnsigned, fallback: "100%", text: "The largest share of the traffic that this leg can carry."},
	}
}

func dnsKeys() []key {
	return []key{
		{name: "provider", kind: kindWord, required: true, words: []string{"alicloud"}, text: "The vendor of the DNS zone."},
		{name: "credentials", kind: kindCredentials, fallback: "env", text: "Where the keys are, as for a CDN."},
		{name: "endpoint", kind: kindURL, fallback: "the vendor's", text: "The whole URL of the API."},
		{name: "zone", kind: kindDomain, required: true, text: "The zone that holds the records."},
		{name: "record", kind: kindText, required: true, text: "The name of the records in the zone. record and zone together are the domain; @ is the zone itself."},
		{name: "line", kind: kindText, fallback: "default", text: "The DNS line on which the weights move. Records on other lines are refused."},
		{name: "ttl", kind: kindDuration, fallback: "60s", text: "The largest TTL that the records may have."},
		{name: "zero", kind: kindWord, fallback: "disable", words: []string{"disable", "weight", "floor"}, text: "How a share of 0% is written: disable the record, weight 0, or weight 1 against 100 (0.99% stays)."},
		{name: "fence", kind: kindWord, fallback: "off", words: []string{"off", "remark"}, text: "Whether the run's id is written into the remark of the records."},
		{name: "nameservers", kind: kindAddresses, fallback: "the zone's NS records", text: "The authoritative servers to ask, as host:port."},
		{name: "resolvers", kind: kindAddresses, fallback: "none", text: "Public resolvers to ask as well, as host:port."},
	}
}

func changeKeys() []key {
	return []key{
		{name: "tls13", kind: kindSwitch, text: "TLS 1.3, on or off."},
		{name: "tls12", kind: kindSwitch, text: "TLS 1.2, on or off."},
		{name: "tls11", kind: kindSwitch, text: "TLS 1.1, on or off."},
		{name: "tls10", kind: kindSwitch, text: "TLS 1.0, on or off."},
	}
}

func expectKeys() []key {
	return []key{
		{name: "error_rate", kind: kindSigned, text: "The expected change of the failure rate, relative to before."},
		{name: "total_time", kind: kindSigned, text: "The expected change of the time of a request, relative to before."},
		{name: "tls_time", kind: kindSigned, text: "The expected change of the time of a TLS handshake, relative to before."},
		{name: "response_size", kind: kindSigned, text: "The expected change of the bytes of a response, relative to before."},
		{name: "requests", kind: kindSigned, text: "The expected change of the number of requests, relative to before."},
		{name: "tls13_share", kind: kindAbove, text: "The share of handshakes that should negotiate TLS 1.3, as above 80%."},
	}
}

func guardrailKeys() []key {
	return []key{
		{name: "name", kind: kindName, required: true, text: "The name of the rule, once in the plan."},
		{name: "source", kind: kindText, required: true, text: "The source that it is judged on."},
		{name: "signal", kind: kindWord, required: true, words: signalNames(), text: "What it watches."},
		{name: "per", kind: kindWord, words: []string{"platform"}, text: "Judge each platform apart.", fallback: "all platforms together"},
		{name: "above", kind: kindUnsigned, text: "For error_rate: breach when the rate is above this."},
		{name: "rise", kind: kindUnsigned, text: "For times and sizes: breach when the mean is above the expected one by more than this."},
		{name: "drop", kind: kindUnsigned, text: "For times and sizes: breach when the mean is below the expected one by more than this. Too good is abnormal too."},
		{name: "moves", kind: kindPoints, text: "For shares: breach when the share differs from the expected one by more than these points, each side apart."},
		{name: "classes", kind: kindWords, words: []string{"2xx", "4xx", "5xx"}, text: "For status_share: the classes to watch, each apart."},
		{name: "falls_below", kind: kindOfExpected, text: "For requests: breach when fewer arrive than this part of the expected ones, as 60% of expected."},
		{name: "for", kind: kindMinutes, required: true, text: "How many breaching minutes make a breach, as 10m."},
		{name: "within", kind: kindMinutes, fallback: "for and 2m", text: "The window in which those minutes must lie. As long as for is the literal reading."},
		{name: "min_requests", kind: kindCount, fallback: "the signal's", text: "A minute with fewer requests than this is not judged."},
		{name: "mode", kind: kindWord, fallback: "act", words: []string{"act", "shadow"}, text: "A shadow rule is judged, recorded and shown, and never acted on."},
	}
}

func stepKeys() []key {
	return []key{
		shiftKey(key{
			name: "bake", kind: kindDuration, fallback: "0s",
			text: "Then wait this long with every guardrail armed. The clock starts when the share is verified.",
		}),
		{name: "tls", kind: kindWord, words: []string{"change", "restore"}, text: "Set the TLS versions, wait until they are live, and prove them by handshakes. restore stands in rollback only."},
		{name: "bake", kind: kindBake, text: "Wait with every guardrail armed.", keys: []key{
			{name: "for", kind: kindDuration, required: true, text: "How long to wait."},
		}},
		{name: "observe", kind: kindBlock, text: "Wait with every guardrail armed, for a time or until a clock time.", keys: []key{
			{name: "for", kind: kindDuration, text: "How long to wait."},
			{name: "until", kind: kindClock, text: "The next such clock time. Quote it."},
		}},
		{name: "approve", kind: kindBlock, text: "Wait for a person.", keys: []key{
			{name: "by", kind: kindText, required: true, text: "Who may approve."},
			{name: "ttl", kind: kindDuration, required: true, text: "How long to wait."},
			{name: "on_timeout", kind: kindWord, fallback: "hold", words: []string{"hold", "rollback"}, text: "What to do when nobody approves in time."},
		}},
		{name: "call", kind: kindBlock, text: "Ask a webhook and wait for its verdict.", keys: []key{
			{name: "url", kind: kindURL, required: true, text: "What to ask."},
			{name: "expect", kind: kindCount, fallback: "200", text: "The HTTP status that means yes; every other one is a refusal."},
		}},
		togetherKey(),
	}
}

func rollbackKeys() []key {
	return append(stepKeys(), key{
		name: "verify", kind: kindWord, words: []string{"tls"},
		text: "Prove by handshakes that the TLS versions are the ones observed at the start. Stands in rollback only.",
	})
}

// shiftKey is the key of a shift; more are the keys that it has besides the share.
func shiftKey(more ...key) key {
	k := key{name: "shift", kind: kindBlock, text: "Set the primary's share of the DNS weight and wait until it is verified.", keys: []key{
		{name: "primary", kind: kindUnsigned, required: true, text: "The primary's share; the backup carries the rest."},
	}}
	k.keys = append(k.keys, more...)
	return k
}

func togetherKey() key {
	return key{name: "together", kind: kindChoices, text: "Do a shift and a tls step at the same time; a lever that fails does not delay the other.", keys: []key{
		shiftKey(),
		{name: "tls", kind: kindWord, words: []string{"change", "restore"}, text: "As the step tls."},
	}}
}
