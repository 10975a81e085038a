package tlsprobe_test

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tlsroll/tlsroll/providers/tlsprobe"
)

// encodeHello writes a ServerHello as a handshake message.
func encodeHello(h *tlsprobe.Hello) []byte {
	b := binary.BigEndian.AppendUint16(nil, h.Legacy)
	b = append(b, h.Random[:]...)
	b = append(b, byte(len(h.Session)))
	b = append(b, h.Session...)
	b = binary.BigEndian.AppendUint16(b, h.Suite)
	b = append(b, h.Compression)
	if h.Tail {
		var tail []byte
		for _, e := range h.Extensions {
			tail = binary.BigEndian.AppendUint16(tail, e.Kind)
			tail = binary.BigEndian.AppendUint16(tail, uint16(len(e.Data)))
			tail = append(tail, e.Data...)
		}
		b = binary.BigEndian.AppendUint16(b, uint16(len(tail)))
		b = append(b, tail...)
	}
	return append([]byte{2, byte(len(b) >> 16), byte(len(b) >> 8), byte(len(b))}, b...)
}

// records writes a message in records of at most size bytes.
func records(message []byte, size int) []byte {
	var b []byte
	for len(message) > 0 {
		part := message[:min(size, len(message))]
		message = message[len(part):]
		b = append(b, 22, 3, 3)
		b = binary.BigEndian.AppendUint16(b, uint16(len(part)))
		b = append(b, part...)
	}
	return b
}

func sample() *tlsprobe.Hello {
	return &tlsprobe.Hello{
		Legacy: tls.VersionTLS12, Session: bytes.Repeat([]byte{9}, 32), Suite: tls.TLS_AES_128_GCM_SHA256, Tail: true,
		Extensions: []tlsprobe.Extension{{Kind: 51, Data: []byte{0, 29, 0, 1, 5}}, {Kind: 43, Data: []byte{3, 4}}},
	}
}

func TestReplies(t *testing.T) {
	plain := hello(tls.VersionTLS12, "DOWNGRD\x01")
	warning := []byte{21, 3, 3, 0, 2, 1, 112}
	retry := sample()
	copy(retry.Random[:], []byte{0xcf, 0x21, 0xad, 0x74})
	longSession := sample()
	longSession.Session = make([]byte, 33)
	for _, test := range []struct {
		name  string
		bytes []byte
		want  tlsprobe.Reply
	}{
		{"nothing", nil, tlsprobe.Reply{}},
		{"a TLS 1.3 ServerHello", records(encodeHello(sample()), 1<<14), tlsprobe.Reply{Chosen: tls.VersionTLS13}},
		{"a HelloRetryRequest", records(encodeHello(retry), 1<<14), tlsprobe.Reply{Chosen: tls.VersionTLS13, Retry: true}},
		{"a ServerHello in small records", records(encodeHello(sample()), 3), tlsprobe.Reply{Chosen: tls.VersionTLS13}},
		{"TLS 1.2 with the mark", plain, tlsprobe.Reply{Chosen: tls.VersionTLS12, Marked: true}},
		{"a warning first", append(warning, plain...), tlsprobe.Reply{Chosen: tls.VersionTLS12, Marked: true}},
		{"what follows does not count", append(plain, 1, 2, 3), tlsprobe.Reply{Chosen: tls.VersionTLS12, Marked: true}},
		{"a fatal alert", fatal(70), tlsprobe.Reply{Alert: 70}},
		{"a warning, then a fatal alert", append(warning, fatal(40)...), tlsprobe.Reply{Alert: 40}},
		{"close_notify, then a ServerHello that no client reads", append([]byte{21, 3, 3, 0, 2, 1, 0}, plain...), tlsprobe.Reply{}},
		{"an alert of no known level", []byte{21, 3, 3, 0, 2, 3, 70}, tlsprobe.Reply{}},
		{"an alert that is too long", []byte{21, 3, 3, 0, 3, 2, 70, 0}, tlsprobe.Reply{}},
		{"an alert inside a message", append(records(encodeHello(sample())[:9], 9), fatal(70)...), tlsprobe.Reply{}},
		{"an empty record", append([]byte{22, 3, 3, 0, 0}, plain...), tlsprobe.Reply{}},
		{"HTTP", []byte("HTTP/1.1 400 Bad Request"), tlsprobe.Reply{}},
		{"a session id that is too long", records(encodeHello(longSession), 1<<14), tlsprobe.Reply{}},
		{"a message of another kind", []byte{22, 3, 3, 0, 4, 1, 0, 0, 0}, tlsprobe.Reply{}},
	} {
		got := tlsprobe.ParseReply(test.bytes)
		got.Hello = nil
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// A ServerHello that is cut anywhere is none.
func TestAServerHelloThatIsCut(t *testing.T) {
	whole := records(encodeHello(sample()), 10)
	for n := range whole {
		if got := tlsprobe.ParseReply(whole[:n]); got.Hello != nil || got.Alert != 0 {
			t.Errorf("the first %d of %d bytes were taken for %+v", n, len(whole), got)
		}
	}
}

// Law: what is accepted, encoded again, are the bytes that were read; and how they are cut into records does not matter.
func FuzzReply(f *testing.F) {
	f.Add(records(encodeHello(sample()), 1<<14), uint8(1))
	f.Add(records(encodeHello(sample()), 7), uint8(200))
	f.Add(hello(tls.VersionTLS12, "DOWNGRD\x01"), uint8(5))
	f.Add(append([]byte{21, 3, 1, 0, 2, 1, 112}, hello(tls.VersionTLS11, "DOWNGRD\x00")...), uint8(50))
	f.Add(fatal(70), uint8(3))
	f.Fuzz(func(t *testing.T, b []byte, size uint8) {
		got := tlsprobe.ParseReply(b)
		if got.Alert != 0 && (got.Hello != nil || !bytes.Contains(b, []byte{0, 2, 2, got.Alert})) {
			t.Fatalf("alert %d out of %x", got.Alert, b)
		}
		if got.Hello == nil {
			return
		}
		message := encodeHello(got.Hello)
		if !bytes.HasPrefix(payload(b), message) {
			t.Fatalf("read %x and encoded it as %x", payload(b), message)
		}
		again := tlsprobe.ParseReply(records(message, 1+int(size)))
		if diff := cmp.Diff(got, again); diff != "" {
			t.Fatalf("in other records (-first +again):\n%s", diff)
		}
	})
}

// payload joins what the handshake records of b carry, up to the first incomplete one.
func payload(b []byte) []byte {
	var out []byte
	for len(b) >= 5 {
		n := 5 + int(binary.BigEndian.Uint16(b[3:]))
		if n > len(b) {
			break
		}
		if b[0] == 22 {
			out = append(out, b[5:n]...)
		}
		b = b[n:]
	}
	return out
}
