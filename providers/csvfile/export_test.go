package csvfile

import "context"

// BeforeTheSecondLook calls f between reading the file and looking whether it changed.
func (s *Source) BeforeTheSecondLook(f func()) { s.reread = f }

// Classify gives an error of the operating system its kind.
func (s *Source) Classify(ctx context.Context, err error) error { return s.classify(ctx, err) }

// MaxFile is the longest file that is read, in bytes.
const MaxFile = maxFile
