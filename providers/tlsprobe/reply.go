package tlsprobe

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"slices"

	"github.com/tlsroll/tlsroll/plans"
)

// maxReply is how much of an edge's first bytes is kept: room for a ServerHello of any size that is met, in several records.
const maxReply = 16 << 10

// Numbers on the wire; RFC 8446 sections 4, 4.2 and 5.1.
const (
	recordAlert       = 21
	recordHandshake   = 22
	recordHeader      = 5
	messageHeader     = 4
	messageHello      = 2
	extensionVersions = 43
	randomSize        = 32
	maxSession        = 32
	alertWarning      = 1
	alertFatal        = 2
)

// The marks of servers that were asked for less than they speak: for TLS 1.2 chosen, and for less than that.
const (
	mark12 = "DOWNGRD\x01"
	mark11 = "DOWNGRD\x00"
)

// reply is how an edge answers a hello: with a ServerHello, with a fatal alert, or with neither, when it said nothing or something else.
type reply struct {
	hello *serverHello
	alert alert // closeNotify unless a fatal alert came in place of a ServerHello
}

// alert is the number of a TLS alert; RFC 8446 section 6.
type alert uint8

const closeNotify alert = 0

// aboutOffer reports whether an alert means that nothing of what the hello offered is taken.
func (a alert) aboutOffer() bool {
	switch uint8(a) {
	case 10, // unexpected_message: what very old stacks say to a hello they cannot read
		40,  // handshake_failure
		47,  // illegal_parameter
		50,  // decode_error
		70,  // protocol_version
		71,  // insufficient_security
		80,  // internal_error: what OpenSSL says when a version is on and every suite of it is off
		86,  // inappropriate_fallback
		109, // missing_extension
		110: // unsupported_extension
		return true
	}
	return false
}

// serverHello is a ServerHello or HelloRetryRequest; RFC 8446 section 4.1.3.
type serverHello struct {
	legacy      uint16 // legacy_version, the version itself up to TLS 1.2
	random      [randomSize]byte
	session     []byte
	suite       uint16
	compression uint8
	tail        bool // there are extensions, perhaps none of them
	extensions  []extension
}

type extension struct {
	kind uint16
	data []byte
}

// chosen is the version that the edge picked.
func (h *serverHello) chosen() uint16 {
	for _, e := range h.extensions {
		if e.kind == extensionVersions && len(e.data) == 2 {
			return binary.BigEndian.Uint16(e.data)
		}
	}
	return h.legacy
}

// marked reports the downgrade mark of a server that speaks TLS 1.3 and was asked for less; RFC 8446 section 4.1.3.
func (h *serverHello) marked() bool { return bytes.HasSuffix(h.random[:], []byte(mark12)) }

// retry reports whether it is a HelloRetryRequest: its random is a constant, SHA-256 of "HelloRetryRequest".
func (h *serverHello) retry() bool {
	return h.chosen() == tls.VersionTLS13 && bytes.Equal(h.random[:4], []byte{0xcf, 0x21, 0xad, 0x74})
}

// taken reports whether a client that made offer o goes on with it.
func (h *serverHello) taken(o offer) bool {
	v := h.chosen()
	downgraded := o.highest == plans.TLS13 && v < tls.VersionTLS13 && (h.marked() || bytes.HasSuffix(h.random[:], []byte(mark11)))
	return v >= wireOf(o.lowest) && v <= wireOf(o.highest) && !downgraded && !h.retry()
}

// parseReply reads an edge's first bytes, which may end anywhere. Warnings before the answer are passed over, as clients do.
func parseReply(b []byte) reply {
	var message []byte
	for {
		kind, body, rest, ok := nextRecord(b)
		if !ok {
			return reply{}
		}
		b = rest
		switch {
		case kind == recordHandshake && len(body) > 0:
			message = append(message, body...)
			if h, ok := firstHello(message); ok {
				return reply{hello: h}
			}
		case kind == recordAlert && len(body) == 2 && len(message) == 0:
			if body[0] == alertFatal {
				return reply{alert: alert(body[1])}
			}
			if body[0] != alertWarning || alert(body[1]) == closeNotify {
				return reply{}
			}
		default:
			return reply{}
		}
	}
}

// nextRecord splits the first record off b; ok is false when it is not complete or no record of TLS.
func nextRecord(b []byte) (kind byte, body, rest []byte, ok bool) {
	if len(b) < recordHeader || b[1] != 3 {
		return 0, nil, nil, false
	}
	end := recordHeader + int(binary.BigEndian.Uint16(b[3:]))
	if len(b) < end {
		return 0, nil, nil, false
	}
	return b[0], b[recordHeader:end], b[end:], true
}

// firstHello reads the handshake message at the start of b, once it is complete.
func firstHello(b []byte) (*serverHello, bool) {
	if len(b) < messageHeader || b[0] != messageHello {
		return nil, false
	}
	size := int(b[1])<<16 | int(binary.BigEndian.Uint16(b[2:]))
	if len(b)-messageHeader < size {
		return nil, false
	}
	return parseHello(b[messageHeader : messageHeader+size])
}

// parseHello reads the body of a ServerHello. Every byte must belong to it.
func parseHello(b []byte) (*serverHello, bool) {
	r := reader{b: b}
	h := &serverHello{legacy: r.uint16()}
	copy(h.random[:], r.take(randomSize))
	session := r.take(int(r.uint8()))
	h.session = slices.Clone(session)
	h.suite, h.compression = r.uint16(), r.uint8()
	if h.tail = len(r.b) > 0; h.tail {
		rest := reader{b: r.take(int(r.uint16()))}
		for len(rest.b) > 0 && !rest.short {
			e := extension{kind: rest.uint16()}
			e.data = slices.Clone(rest.take(int(rest.uint16())))
			h.extensions = append(h.extensions, e)
		}
		r.short = r.short || rest.short
	}
	return h, !r.short && len(r.b) == 0 && len(session) <= maxSession
}

// reader takes bytes from the front. Once they run short it yields zeros, and says so.
type reader struct {
	b     []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.b) {
		r.b, r.short = nil, true
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) uint8() uint8 {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint16() uint16 {
	if b := r.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}
