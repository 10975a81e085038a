package tlsprobe_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"go.uber.org/zap"

	"github.com/tlsroll/tlsroll/guardrails"
	"github.com/tlsroll/tlsroll/providers/tlsprobe"
)

// An edge on loopback, probed for the name in its certificate.
func Example() {
	edge := httptest.NewUnstartedServer(http.NotFoundHandler())
	edge.Config.ErrorLog = zap.NewStdLog(zap.NewNop()) // it would report the versions that it refuses
	edge.StartTLS()
	defer edge.Close()
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	ca := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: edge.Certificate().Raw}), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	p, err := tlsprobe.New("example.com", tlsprobe.Options{Primary: tlsprobe.Leg{Edges: []string{edge.Listener.Addr().String()}, CA: ca}})
	if err != nil {
		fmt.Println(err)
		return
	}
	hs, err := p.Handshake(context.Background(), guardrails.Primary)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, h := range hs {
		fmt.Println(h.Version, h.Group, "accepts", h.Accepted)
		fmt.Println("an old client's hello shows that TLS 1.3 is on:", h.Sentinel)
		fmt.Printf("certificate for %v, trouble %q\n", h.Names, h.ChainError)
	}
	// Output:
	// TLS 1.3 X25519MLKEM768 accepts TLS 1.2, TLS 1.3
	// an old client's hello shows that TLS 1.3 is on: true
	// certificate for [example.com *.example.com], trouble ""
}
