package etcd_test

import (
	"io"
	"net"
	"sync"
	"testing"
)

// proxy stands between a controller and a member of the cluster.
type proxy struct {
	to string
	l  net.Listener
	wg sync.WaitGroup

	mu    sync.Mutex
	mode  traffic
	conns []net.Conn
}

// traffic is what a proxy lets through.
type traffic int

const (
	all     traffic = iota + 1
	nothing         // a partition
	asked           // what the controller sends arrives, and no answer comes back
)

func startProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{to: to, l: l, mode: all}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.set(nothing)
		p.wg.Wait()
	})
	return p
}

func (p *proxy) address() string { return p.l.Addr().String() }

// set changes what is let through. Connections that were made before end, except where only the answers are to be lost.
func (p *proxy) set(m traffic) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = m
	if m == asked {
		return
	}
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

func (p *proxy) now() traffic {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode
}

func (p *proxy) accept() {
	for {
		in, err := p.l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.to) //nolint:noctx // it ends with the proxy
		p.mu.Lock()
		if err != nil || p.mode == nothing {
			_ = in.Close()
			if err == nil {
				_ = out.Close()
			}
			p.mu.Unlock()
			continue
		}
		p.conns = append(p.conns, in, out)
		p.mu.Unlock()
		p.wg.Go(func() { _, _ = io.Copy(out, in) })
		p.wg.Go(func() { _, _ = io.Copy(answers{p, in}, out) })
	}
}

// answers go back to the controller while they may.
type answers struct {
	p  *proxy
	to net.Conn
}

func (a answers) Write(b []byte) (int, error) {
	if a.p.now() == asked {
		return len(b), nil
	}
	return a.to.Write(b)
}
