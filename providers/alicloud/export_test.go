package alicloud

// The pure decoders, for fuzzing.
var (
	ParseDetail    = parseDetail
	ParseTLS       = parseTLS
	FunctionsOf    = functionsOf
	ParseRecords   = parseRecords
	ParseWeighting = parseWeighting
	ParseCodes     = parseCodes
	ParseQPS       = parseQPS
	ParseBandwidth = parseBandwidth
	Scrub          = scrub
)

// RecordPage, Weighting and WeightingPage are what the list decoders return.
type (
	RecordPage    = recordPage
	Weighting     = weighting
	WeightingPage = weightingPage
)
