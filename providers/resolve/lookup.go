package resolve

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"

	"github.com/miekg/dns"
)

// zoneServers returns the first address of each of the zone's name servers, sorted.
func zoneServers(ctx context.Context, zone string, resolvers []string) ([]string, error) {
	r := through(resolvers)
	records, err := r.LookupNS(ctx, zone)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, ns := range records {
		ips, err := r.LookupNetIP(ctx, "ip", ns.Host)
		if err == nil && len(ips) > 0 && len(out) < maxServers {
			out = append(out, netip.AddrPortFrom(ips[0].Unmap(), 53).String())
		}
	}
	if len(out) == 0 {
		return nil, errors.New("none of them has an address")
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Edges returns ip:443 for the addresses of a CDN's host name, at most eight, sorted. It asks the first of the given resolvers
// (host:port), or the system's. A host name that does not exist is an error of kind Missing, every other one is Transient.
func Edges(ctx context.Context, host string, resolvers []string) ([]string, error) {
	ips, err := through(resolvers).LookupNetIP(ctx, "ip", dns.Fqdn(host))
	if err != nil {
		return nil, failure(ctx, "look up the edges of "+host, err)
	}
	var out []string
	for _, ip := range ips {
		out = append(out, netip.AddrPortFrom(ip.Unmap(), 443).String())
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), maxEdges)], nil
}

// through asks the first of the given resolvers, or the system's.
func through(resolvers []string) *net.Resolver {
	if len(resolvers) == 0 {
		return net.DefaultResolver
	}
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, resolvers[0])
	}}
}
