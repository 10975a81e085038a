package rollout

import "strconv"

// A record that stands exactly as Encode writes it is cut along its field names, so that encoding/json reads its event once and not four
// times. What does not fit, or does not decode, is left to encoding/json alone: it decides what is a record, and says what is wrong.

// decodeCanonical reads {"seq":1,"at":"…","kind":"…","event":…} and the same with ,"result":"…" at the end.
func decodeCanonical(data []byte) (Record, bool) {
	var w wireRecord
	seq, rest, ok := cutNumber(data, `{"seq":`)
	if !ok {
		return Record{}, false
	}
	w.Seq = seq
	at, rest, ok := cutWord(rest, `,"at":"`)
	if !ok || w.At.UnmarshalText(at) != nil {
		return Record{}, false
	}
	kind, rest, ok := cutWord(rest, `,"kind":"`)
	if !ok {
		return Record{}, false
	}
	w.Kind = string(kind)
	event, ok := cutAround(rest, `,"event":`, `}`)
	if !ok {
		return Record{}, false
	}
	w.Event, w.Result = cutResult(event)
	e, err := decodeEvent(w)
	return Record{Seq: w.Seq, At: w.At, Event: e}, err == nil
}

// cutResult parts an event from the kind of its result. An event is an object, so what ends in a quotation mark has a result behind it.
func cutResult(data []byte) (event []byte, kind string) {
	const key = `,"result":"`
	last := len(data) - 1
	if last < 0 || data[last] != '"' {
		return data, ""
	}
	from := last
	for from > 0 && data[from-1] != '"' {
		from--
	}
	word, rest, ok := cutWord(data[max(from-len(key), 0):], key)
	if !ok || len(rest) > 0 {
		return data, ""
	}
	return data[:from-len(key)], string(word)
}

// successCanonical reads {"ID":1,"Result":…}.
func successCanonical(w wireRecord) (Event, bool) {
	id, rest, ok := cutNumber(w.Event, `{"ID":`)
	if !ok {
		return nil, false
	}
	result, ok := cutAround(rest, `,"Result":`, `}`)
	if !ok {
		return nil, false
	}
	res, err := decodeResult(w.Result, result)
	return CommandSucceeded{ID: CommandID(id), Result: res}, err == nil
}

// cutNumber reads a key and the number after it, as encoding/json writes it.
func cutNumber(data []byte, key string) (n uint64, rest []byte, ok bool) {
	rest, ok = cutAround(data, key, "")
	if !ok {
		return 0, nil, false
	}
	end := 0
	for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}
	if end > 1 && rest[0] == '0' {
		return 0, nil, false
	}
	n, err := strconv.ParseUint(string(rest[:end]), 10, 64)
	return n, rest[end:], err == nil
}

// cutWord reads a key and the string after it, which has nothing in it that JSON escapes.
func cutWord(data []byte, key string) (word, rest []byte, ok bool) {
	rest, ok = cutAround(data, key, "")
	if !ok {
		return nil, nil, false
	}
	for i, c := range rest {
		switch {
		case c == '"':
			return rest[:i], rest[i+1:], true
		case c < ' ' || c == '\\' || c > '~':
			return nil, nil, false
		}
	}
	return nil, nil, false
}

// cutAround reads what stands between two texts.
func cutAround(data []byte, before, after string) (between []byte, ok bool) {
	from, to := len(before), len(data)-len(after)
	if to < from || string(data[:from]) != before || string(data[to:]) != after {
		return nil, false
	}
	return data[from:to], true
}
