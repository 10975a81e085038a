package main

import (
	"context"
	"fmt"

	"github.com/tlsroll/tlsroll/cmd/tlsroll/view"
	"github.com/tlsroll/tlsroll/controller/rollout"
)

// rejudge judges a run's stored minutes again and says whether the same comes out. Where rows are missing the run cannot be replayed any
// further, so everything up to there is compared.
func rejudge(ctx context.Context, io stdio, at string, args []string, output string) error {
	records, missing, err := readKept(ctx, io, at, args)
	if err != nil {
		return err
	}
	whole := records
	if len(missing) > 0 {
		records = records[:missing[0]-1]
	}
	judged, witness := rollout.Rejudge(records)
	doc := view.NewRejudgeDoc(whole, judged, missing, witness)
	show := view.RejudgeLines
	if output == "json" {
		show = func(w view.Writer, d view.RejudgeDoc) error { return view.JSON(w, d) }
	}
	if err := show(io.out, doc); err != nil {
		return err
	}
	switch {
	case !doc.Equal && witness != nil:
		return &exitError{code: exitUnexpected, err: fmt.Errorf("the journal does not follow from its minutes: %w", witness), hint: versionHint}
	case !doc.Equal:
		return &exitError{
			code: exitUnexpected, err: fmt.Errorf("record %d was decided otherwise than its minutes say", *doc.FirstDifference), hint: versionHint,
		}
	case len(missing) > 0:
		return &exitError{
			code: exitPrecondition, err: fmt.Errorf("the rows of %d records are not in this store; from record %d on nothing can be judged again", len(missing), missing[0]),
			hint: "they are in the store of the controller that fetched them",
		}
	}
	return nil
}

const versionHint = "the first record of tlsroll events names the version that carried out the run; another version may judge otherwise"

// readKept reads the run that is named, or the latest, and which records' rows are missing.
func readKept(ctx context.Context, io stdio, at string, args []string) (records []rollout.Record, missing []uint64, err error) {
	s, id, err := openRun(ctx, io, at, args)
	if err != nil {
		return nil, nil, err
	}
	defer s.Close() //nolint:errcheck // only read
	j, err := s.Load(ctx, id)
	if err != nil {
		return nil, nil, unknownRun(err)
	}
	return j.Records()
}
