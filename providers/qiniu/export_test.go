package qiniu

// The pure decoders, for fuzzing.
var (
	ParseDomain      = parseDomain
	ParseStatusCodes = parseStatusCodes
	ParseRequests    = parseRequests
	ParseBandwidth   = parseBandwidth
	Scrub            = scrub
)
