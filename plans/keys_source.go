package plans

// The types of sources.
const (
	typePrometheus = "prometheus"
	typeAlicloud   = "alicloud"
	typeJSONHTTP   = "jsonhttp"
	typeCSVFile    = "csvfile"
)

func sourceKeys() []key {
	formats := []string{UnixSeconds.String(), UnixMillis.String(), RFC3339.String()}
	return []key{
		{name: "type", kind: kindWord, required: true, words: []string{typePrometheus, typeAlicloud, typeJSONHTTP, typeCSVFile}, text: "What answers: a Prometheus API, the monitoring of the primary CDN (request counts and status shares), JSON over HTTP, or a CSV file."},
		{name: "url", kind: kindURL, text: "The whole URL of the API. For jsonhttp {from} and {to} in its path or query are the start of the first minute and the end of the last one asked for. Needed for prometheus and jsonhttp."},
		{name: "path", kind: kindText, text: "The file, absolute or relative to the directory in which tlsroll runs. Needed for csvfile."},
		{name: "credentials", kind: kindCredentials, fallback: "none", text: "Where the keys for the API are, as for a CDN. For jsonhttp env is TLSROLL_NAME_TOKEN, or TLSROLL_NAME_USER and TLSROLL_NAME_PASSWORD, after the name of the source."},
		{name: "settle", kind: kindDuration, fallback: "1m, or 8m for alicloud", text: "A minute is judged this long after it ended."},
		{name: "method", kind: kindWord, words: []string{methodGet, methodPost}, fallback: "POST with a body, else GET", text: "For jsonhttp: how the API is asked."},
		{name: "body", kind: kindText, text: "For jsonhttp: what is sent, as JSON, with {from} and {to} as in url. A GET has none."},
		{name: "time_format", kind: kindWord, words: formats, fallback: formats[0], text: "For jsonhttp: how {from} and {to} are written: in seconds or milliseconds since 1970, or as 2021-06-24T18:00:00Z."},
		{name: "rows", kind: kindPath, fallback: "the answer itself", text: "For jsonhttp: where in the answer the list of rows is. Each row is one minute of one platform on one CDN."},
		{name: "partial", kind: kindPath, fallback: "none", text: "For jsonhttp: where in the answer a flag is that says it is incomplete. Anything but false, null, 0 and empty there refuses the answer."},
		{name: "fields", kind: kindBlock, keys: fieldKeys(), text: "For jsonhttp: where in a row each number is. Needed: minute, and one number at least."},
		{name: "minute_format", kind: kindWord, words: formats, fallback: formats[0], text: "For jsonhttp: how fields.minute is written, as time_format; with rfc3339 any offset will do."},
		{name: "labels", kind: kindBlock, fallback: "{platform: platform, cdn: cdn}", text: "For prometheus: the names of the labels that tell platforms and CDNs apart. Without one of them its rows are not told apart.", keys: []key{
			{name: "platform", kind: kindText, text: "The label that holds the platform."},
			{name: "cdn", kind: kindText, text: "The label that holds the CDN."},
		}},
		{name: "legs", kind: kindBlock, fallback: "{primary: primary, backup: backup}", text: "The values of the label, field or column cdn that mean each leg.", keys: []key{
			{name: "primary", kind: kindTexts, required: true, text: "The value or values that mean the primary."},
			{name: "backup", kind: kindTexts, text: "The value or values that mean the backup."},
		}},
		{name: "queries", kind: kindBlock, keys: queryKeys(), text: "For prometheus: one query a field. Each returns a sum over one minute, by the labels above."},
	}
}

// fieldKeys are the keys of what a row holds: when, where, and the numbers that queries ask for.
func fieldKeys() []key {
	keys := []key{
		{name: "minute", kind: kindPath, required: true, text: "The start of the minute."},
		{name: "platform", kind: kindPath, fallback: "platforms are not told apart", text: "The platform."},
		{name: "cdn", kind: kindPath, fallback: "every row is the primary's", text: "The CDN, as one of the values of legs."},
	}
	for _, k := range queryKeys() {
		k.kind = kindPath
		keys = append(keys, k)
	}
	return keys
}

func queryKeys() []key {
	return []key{
		{name: "requests", kind: kindText, text: "Requests."},
		{name: "errors", kind: kindText, text: "Requests that failed."},
		{name: "total_ms", kind: kindText, text: "Milliseconds, summed over requests."},
		{name: "tls_ms", kind: kindText, text: "Milliseconds of TLS handshakes, summed."},
		{name: "tls", kind: kindText, text: "TLS handshakes."},
		{name: "bytes", kind: kindText, text: "Bytes of responses, summed."},
		{name: "tls13", kind: kindText, text: "Handshakes that negotiated TLS 1.3."},
		{name: "status_2xx", kind: kindText, text: "Answers with a status of 200 to 299."},
		{name: "status_4xx", kind: kindText, text: "Answers with a status of 400 to 499."},
		{name: "status_5xx", kind: kindText, text: "Answers with a status of 500 to 599."},
	}
}
