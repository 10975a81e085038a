package tlsprobe

import (
	"crypto/x509"
	"errors"
	"slices"
	"time"
)

// chain is what an edge showed of itself.
type chain struct {
	names    []string
	issuer   string
	notAfter time.Time
	err      string // why it does not verify; "" when it does
}

// examine verifies certificates as sent, leaf first, for domain. Nothing but roots is added to them.
func examine(sent []*x509.Certificate, roots *x509.CertPool, domain string) chain {
	if len(sent) == 0 {
		return chain{err: "the edge sent no certificate"}
	}
	leaf := sent[0]
	c := chain{names: slices.Clone(leaf.DNSNames), issuer: leaf.Issuer.String(), notAfter: leaf.NotAfter.UTC()}
	between := x509.NewCertPool()
	for _, cert := range sent[1:] {
		between.AddCert(cert)
	}
	_, err := leaf.Verify(x509.VerifyOptions{DNSName: domain, Roots: roots, Intermediates: between})
	if err == nil {
		return c
	}
	c.err = err.Error()
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); unknown && len(sent) == 1 && leaf.CheckSignatureFrom(leaf) != nil {
		c.err += "; the edge sent no intermediate"
	}
	return c
}
