// Package plans is the plan: one TLS change on one domain, as people review it and as a run carries it out.
//
// It decodes the file strictly, finds every problem at its line and column, fills in every default, generates the way back, and
// prints the canonical form that a digest is taken of. It also holds the domain's state as providers report it, the order of DNS
// writes, and the checks of that state before a run.
//
// Laws, each held by a test:
//
//   - Everything here is a function of its arguments. There is no clock, file, network, lock, log or global; the one thing read from
//     outside is the time zone database, through [time.LoadLocation].
//   - Parse reports all problems at once, never one at a time, and returns a plan only when none of them is an error.
//   - Parse(Encode(p)) equals p for every p that Parse returned, so Digest changes with the meaning of a plan and with nothing else.
//   - No problem, and no source line printed with one, repeats a value that looks like a secret.
//   - Writes on the DNS lever never pass a state in which no record answers, and keep the share between the old and the new one.
//   - Where this package and the file are silent, the safe reading wins: zero is not absent, and a number without a unit is refused.
package plans
