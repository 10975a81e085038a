// Package rollout decides. A run is a value; [Next] takes it and one record of what happened, and returns the run as it is afterwards
// and the commands that are due. There is no clock, no I/O and no goroutine here: time comes with the record, evidence with the events.
//
// # Duties of the caller
//
// Make the record durable, then call Next, then start the commands, never in another order. After a crash, [Replay] the records, record
// a [Resumed], and start [Run.Outstanding]: what may not be repeated blindly after a gap is left out of it until it is safe. A
// command's id is a counter in the run, so run id and command id together are its idempotency key. A command on a lever (SetShare,
// SetTLS) that is started while an older one on the same lever is still under way replaces it: end the older one first. An answer to a
// command that is no longer outstanding changes nothing.
//
// # Laws
//
// S1 the primary's share never exceeds the current step's while the change may be live. S2 exposure rises only when every rule is CLEAR
// and the share before was verified. S3 after a breach or an abort no command raises exposure until the restored settings are proved.
// S4 RolledBack means that settings and weights equal those observed at the start. S5 at most one write is outstanding per lever.
// S6 Next is deterministic. S7 no verdict stands on fewer requests than declared. S8 missing data never passes. S9 weights are never
// all zero or all off, and sum to 100 at rest. S10 a rollback latches. L1 in a world that answers, every run ends. L2 a sustained breach
// starts the way back within window, settle time and one tick. R1 crash, replay and resume end as the run would have. R2 the replay of
// a journal is the live run.
//
// # Choices where the design is silent
//
//   - A run that may not write yet ends as Halted with nothing touched; one that has written goes the way back.
//   - Before a rise from 0 % the rules are judged on the backup: it is the control leg, and it carries everything then.
//   - A leg that breaches while the primary carries nothing is the backup. Pulling more traffic onto it helps nobody: hold and page.
//   - A breach on the way up of a rollback, with the restored settings proved, is not the change's. The primary is drained once more
//     and the run ends as RolledBackUnverified.
//   - Drift is seen in what is read, and in what a write finds (a Conflict); there is no event of its own for it. A lost claim is no
//     event either: the store refuses the record, so nothing more can happen in that process.
//   - Certificate or handshake failures after the change are waited out for the proof's deadline while the primary carries nothing;
//     with traffic on it they roll back at once.
//   - A webhook that cannot be heard is asked again, and the run holds meanwhile; only its verdict turns the run round. It may be asked
//     more than once for one step, with the same idempotency key.
//   - Notifications are an outbox that is kept in the journal: one that is outstanding when the process ends, or when the run ends, is
//     delivered by whoever goes on with it, at least once. A terminal run takes in nothing else.
//   - For half a minute after a write was read back, a read that differs from it comes from a server that is behind, and is made again: it
//     is no drift, and nothing rises on it.
//   - Handshakes prove a restore only once the CDN says that it is live. Where no status says so, as for a function that is deleted, they
//     count from five minutes after the write: an edge that the change has not reached yet looks restored.
//   - A start at 0 % or at 100 % is refused: there would be no leg to compare with, and no weight that restores the start.
//   - After a Resumed, writes that raise exposure wait until each source has answered and every rule is CLEAR again: nobody watched while
//     the process was away. Writes that lower it do not wait.
//   - A rise that failed is asked for again only while advance_until and the rules still allow it.
//   - On the way back a write that reports success late, or a restore that is undone by another's late write, is asked for again.
//   - The share in force is the one read back, not the one asked for, wherever the two differ.
//   - A common cause is one since the first verdict that the backup denied, until that rule is CLEAR on that platform; neither a gap nor a
//     pause by hand stops its clock. A hold that verdicts began ends when every rule is CLEAR. Missing minutes turn the run round only where somebody asked for them, and nobody else moved the traffic.
//   - An hour of the week before is asked for in preflight, and the next hours as the night goes on. What does not answer is left out: a shorter week must not keep a night from starting.
//   - The restored settings are proved by the origin's answers and handshakes. With a source dead at the end of the way back, the run
//     ends as RolledBackUnverified at the restored state: waiting for it would help nobody.
package rollout
