package tlsprobe

// Hello is a ServerHello as the parser read it, for its fuzz law.
type Hello struct {
	Legacy      uint16
	Random      [randomSize]byte
	Session     []byte
	Suite       uint16
	Compression uint8
	Tail        bool
	Extensions  []Extension
}

// Extension is one of its extensions.
type Extension struct {
	Kind uint16
	Data []byte
}

// Reply is what an edge's first bytes were taken for.
type Reply struct {
	Hello  *Hello
	Alert  uint8
	Chosen uint16
	Marked bool
	Retry  bool
}

// ParseReply calls the parser.
func ParseReply(b []byte) Reply {
	r := parseReply(b)
	out := Reply{Alert: uint8(r.alert)}
	if r.hello == nil {
		return out
	}
	h := r.hello
	out.Chosen, out.Marked, out.Retry = h.chosen(), h.marked(), h.retry()
	out.Hello = &Hello{Legacy: h.legacy, Random: h.random, Session: h.session, Suite: h.suite, Compression: h.compression, Tail: h.tail}
	for _, e := range h.extensions {
		out.Hello.Extensions = append(out.Hello.Extensions, Extension{Kind: e.kind, Data: e.data})
	}
	return out
}
