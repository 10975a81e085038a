// Package guardrails judges minutes of measurements: is the change hurting people, can that be told at all, and is the traffic where
// it was sent. It is pure: no clock, no I/O, no lock, no state besides its arguments.
//
// # Laws
//
//   - Time is event time. A minute is judged once it is settled, that is when its end lies the source's settle time in the past, and
//     once the source was asked for it after that.
//   - A minute is BREACH, OK or UNKNOWN. UNKNOWN never counts as healthy and never erases a breach.
//   - [Judge] is a function of table, baseline, rule and situation. There is no pending timer to lose, so a restart, a revision, a
//     duplicate or a late minute needs no code of its own.
//   - A known number is never replaced by an unknown one; of two known numbers the one fetched last counts.
//   - Limits are strict: a value equal to its limit is OK. A denominator of zero is UNKNOWN, never 0 %.
//   - A table and a baseline are values: nothing here changes one that it was given.
//   - Every number that leaves the package is finite.
//
// # Semantics
//
// A rule with for 10m and within 12m FIREs when 10 of the last 12 settled minutes breach on the same side, on at least 200 requests
// in the window (and 10 failed ones, for error_rate). FAST is five minutes in a row beyond four times the limit. SUSPECT is five
// breaches of the last six minutes, or thin traffic whose pooled error rate is above the limit with 95 % confidence and in every
// third of ten minutes. BLIND is three minutes without data. CLEAR is ten minutes with at most one breach and two unknown minutes,
// none of the last two breaching. Anything else is PENDING, and a leg that is asked to carry nothing is IDLE. README.md publishes
// the cases at the boundaries; its table is this package's test.
//
// A window never reaches back before the last change of weight. The first TTL and three minutes after a change are unknown to rules
// on means and requests, because moving weight moves users and cold caches; errors count at once. The design asks that rules on the
// canary count from the first verified share; here that holds for what raises exposure (the controller adds it), while FIRE and FAST
// are armed from the change on: waiting would only delay a rollback.
//
// One or two newest minutes without a row may yet come: the window ends before them, they count as unknown for CLEAR, and shares are
// compared up to the newest minute that every series has. Three are lost, and judged as missing.
//
// A rule that is not per platform judges the sum of its source's platforms. A rule without a limit stays PENDING. A mean or share
// without a baseline is UNKNOWN, so a platform that appears late never passes such a rule. Silence needs a control leg that reports;
// at 100 % there is none, and only the absence of minutes counts then, as BLIND.
//
// # Choices where the sources are silent, or differ
//
//   - The reference lets an unadjusted rule only hold below twice the band. Here the control leg may confirm such a breach, and it rolls
//     back then: what the time of day does, it does to both legs.
//   - The reference compares errors by points that belong to a limit of 5 % (2.5 to confirm). Here they are half and a quarter of the
//     rule's own limit, which is the same there.
//   - The reference's simulation lets a control of 50 requests a minute deny; its text asks for 200. Here the text holds.
//   - A FIRE without a control is spoken for by rules of the same platform that have one and FIRE as well; a FAST by nobody. Rules that do
//     not FIRE say nothing: they may watch what the fault does not touch.
//   - Denied, a weak breach only holds: what the time of day does, it does to both legs.
//   - Blindness is counted from the last change on, once the leg has shown a row, and where enough is asked of it. A leg that the source has never told apart counts as blind with the other.
package guardrails
