package etcd

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
)

// ParseURL reads etcd://host:port,host:port/prefix?ca=FILE&cert=FILE&key=FILE. Everything but one member is optional; with ca or cert the
// connection is TLS. A password is refused: a URL is printed and lies in shell histories.
func ParseURL(text string) (Options, error) {
	rest, ok := strings.CutPrefix(text, "etcd://")
	if !ok {
		return Options{}, fmt.Errorf("store %q does not begin with etcd://", text)
	}
	if strings.Contains(rest, "@") {
		return Options{}, errors.New("the store's URL holds a user or a password; give them by the environment")
	}
	where, query, _ := strings.Cut(rest, "?")
	members, prefix, _ := strings.Cut(where, "/")
	o := Options{Endpoints: strings.Split(members, ",")}
	for _, m := range o.Endpoints {
		if host, port, err := net.SplitHostPort(m); err != nil || host == "" || port == "" {
			return Options{}, fmt.Errorf("store %q: member %q is not host:port, as etcd.example.com:2379", text, m)
		}
	}
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		o.Prefix = "/" + prefix + "/"
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return Options{}, fmt.Errorf("store %q: %w", text, err)
	}
	for key := range values {
		if key != "ca" && key != "cert" && key != "key" {
			return Options{}, fmt.Errorf("store %q: %q is not ca, cert or key", text, key)
		}
	}
	o.Client.TLS, err = tlsConfig(values.Get("ca"), values.Get("cert"), values.Get("key"))
	return o, err
}

func tlsConfig(ca, cert, key string) (*tls.Config, error) {
	if ca == "" && cert == "" && key == "" {
		return nil, nil //nolint:nilnil // nil is how the client is told to do without
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := os.ReadFile(ca) //nolint:gosec // the user names the file
		if err != nil {
			return nil, fmt.Errorf("etcd's CA: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("etcd's CA: %s holds no certificate", ca)
		}
	}
	if cert != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("etcd's client certificate (cert and key belong together): %w", err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}
