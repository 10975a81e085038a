package lab

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// certificates are what the edges present.
type certificates struct {
	good  tls.Certificate // for the domain
	wrong tls.Certificate // for another name
}

// makeCertificates makes a CA and two leaves that are valid in both times, and writes the CA to a file in dir.
func makeCertificates(dir, domain string, wall, virtual time.Time) (c certificates, path string, err error) {
	from, to := wall, virtual
	if to.Before(from) {
		from, to = to, from
	}
	from, to = from.AddDate(0, 0, -1), to.AddDate(1, 0, 0)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return c, "", fmt.Errorf("make the CA: %w", err)
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tlsroll lab CA"}, NotBefore: from, NotAfter: to,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, ca, ca, key.Public(), key)
	if err != nil {
		return c, "", fmt.Errorf("make the CA: %w", err)
	}
	if c.good, err = leaf(ca, key, domain, 2); err != nil {
		return c, "", err
	}
	if c.wrong, err = leaf(ca, key, "wrong.example.net", 3); err != nil {
		return c, "", err
	}
	path = filepath.Join(dir, "lab-ca.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		return c, "", fmt.Errorf("write the CA file: %w", err)
	}
	return c, path, nil
}

func leaf(ca *x509.Certificate, caKey *ecdsa.PrivateKey, name string, serial int64) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a certificate for %s: %w", name, err)
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, ca, key.Public(), caKey)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a certificate for %s: %w", name, err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
