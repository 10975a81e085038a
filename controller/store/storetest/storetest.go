// Package storetest is the conformance suite of package store: every back end passes it, and nothing of it knows which one it is.
package storetest

import (
	"testing"
	"time"

	"github.com/tlsroll/tlsroll/controller/store"
)

// ttl is that of a claim that must not run out while a test is at it.
const ttl = 10 * time.Minute

// Backend is what the suite needs of a back end. All of it is required.
type Backend struct {
	// Open returns an empty store.
	Open func(t *testing.T) store.Store
	// Reopen closes a store and opens the same one again, as after a crash.
	Reopen func(t *testing.T, s store.Store) store.Store
	// Overwrite replaces what is kept of the run j.Run.ID, below the interface: head, entries and rows become those of j, whatever they say.
	// No two entries have the same Seq.
	Overwrite func(t *testing.T, s store.Store, j store.Journal)
	// TTL is a time that the back end takes a claim for, as short as it goes. The suite waits for about ten such claims to run out.
	TTL time.Duration
}

// Run checks a back end.
func Run(t *testing.T, b Backend) {
	on := func(f func(t *testing.T, s store.Store)) func(t *testing.T, b Backend) {
		return func(t *testing.T, b Backend) { f(t, b.Open(t)) }
	}
	for _, law := range []struct {
		name  string
		prove func(t *testing.T, b Backend)
	}{
		{"claims: all keys or none", on(allOrNone)},
		{"claims: they say who holds what since when", on(whoHolds)},
		{"claims: no keys, or no time, is no claim", on(noClaim)},
		{"claims: one that ran out can be taken, one that is renewed not", expiry},
		{"claims: an epoch is never given twice", epochs},
		{"claims: lapsed when it was not released, and only then", lapsed},
		{"fence: nothing is done under an older claim", on(fencing)},
		{"fence: nothing is done under a claim that is not one's own", on(forgery)},
		{"fence: a claim that lost one of its keys is lost", lostKey},
		{"fence: what is accepted follows the epochs, whatever happens", history},
		{"append: records come back whole and in order after a reopening", roundTrip},
		{"append: a record out of order is refused", on(order)},
		{"append: the same record is taken again, another one is not", on(repeat)},
		{"append: of several records with one number exactly one wins", on(race)},
		{"append: many runs at once do not mix", on(manyRuns)},
		{"append: rows are kept by run and digest", on(rows)},
		{"append: rows that are not those of the digest are refused", on(digests)},
		{"append: names with any character", on(oddNames)},
		{"append: a call that was cancelled leaves nothing half done", on(cancelled)},
		{"runs: listed newest first, with what they are", listing},
		{"runs: the end is noted, and records may follow it", on(finish)},
		{"runs: one that ended can be removed, another cannot", on(removal)},
		{"runs: an unknown one is no empty one", on(unknown)},
		{"damage: what was changed, removed, added or swapped is found", damage},
		{"damage: rows that are gone are named, and Read refuses the run", gone},
		{"damage: a damaged run keeps no other from being read", neighbours},
	} {
		t.Run(law.name, func(t *testing.T) { law.prove(t, b) })
	}
}
