package etcd_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/tlsroll/tlsroll/controller/store/etcd"
)

// cluster is three real members in this process.
type cluster struct {
	members   [3]*embed.Etcd
	configs   [3]*embed.Config
	endpoints []string
}

// shared is started once: a cluster takes seconds to come up, and every test has its own prefix.
var shared *cluster

// TestMain starts the cluster of all tests. What m.Run returns is the exit code when TestMain returns.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "tlsroll-etcd-")
	if err == nil {
		shared, err = startCluster(dir)
	}
	if err != nil {
		panic("start etcd: " + err.Error())
	}
	m.Run()
	for _, member := range shared.members {
		member.Close()
	}
	_ = os.RemoveAll(dir)
}

func startCluster(dir string) (*cluster, error) {
	c := &cluster{}
	var peers, names []string
	urls := make([][2]url.URL, len(c.members))
	for i := range c.members {
		for k := range urls[i] {
			port, err := freePort()
			if err != nil {
				return nil, err
			}
			urls[i][k] = url.URL{Scheme: "http", Host: "127.0.0.1:" + port}
		}
		names = append(names, fmt.Sprint("m", i))
		peers = append(peers, names[i]+"="+urls[i][0].String())
		c.endpoints = append(c.endpoints, urls[i][1].Host)
	}
	for i := range c.members {
		cfg := embed.NewConfig()
		cfg.Name, cfg.Dir = names[i], fmt.Sprint(dir, "/", names[i])
		cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = urls[i][:1], urls[i][:1]
		cfg.ListenClientUrls, cfg.AdvertiseClientUrls = urls[i][1:], urls[i][1:]
		cfg.InitialCluster, cfg.InitialClusterToken = strings.Join(peers, ","), "tlsroll"
		cfg.TickMs, cfg.ElectionMs = 50, 500
		cfg.LogLevel, cfg.LogOutputs = "panic", []string{os.DevNull}
		c.configs[i] = cfg
	}
	started := make(chan error, len(c.members))
	for i := range c.members {
		go func() {
			var err error
			c.members[i], err = embed.StartEtcd(c.configs[i])
			started <- err
		}()
	}
	for range c.members {
		if err := <-started; err != nil {
			return nil, err
		}
	}
	for _, m := range c.members {
		<-m.Server.ReadyNotify()
	}
	return c, nil
}

// leader is the member that the cluster follows.
func (c *cluster) leader() int {
	for i, m := range c.members {
		if m.Server.Leader() == m.Server.MemberID() {
			return i
		}
	}
	return 0
}

// kill ends a member without any farewell, and restart starts it again on its data.
func (c *cluster) kill(i int) {
	c.members[i].Server.HardStop()
	c.members[i].Close()
}

func (c *cluster) restart(t *testing.T, i int) {
	t.Helper()
	cfg := *c.configs[i]
	cfg.ClusterState = embed.ClusterStateFlagExisting
	m, err := embed.StartEtcd(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	<-m.Server.ReadyNotify()
	c.members[i] = m
}

func freePort() (string, error) {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return "", err
	}
	defer l.Close() //nolint:errcheck // it was only asked for a number
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

func open(t *testing.T, prefix string) *etcd.Store {
	t.Helper()
	return openAt(t, prefix, shared.endpoints...)
}

func openAt(t *testing.T, prefix string, endpoints ...string) *etcd.Store {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s, err := etcd.Open(ctx, etcd.Options{Endpoints: endpoints, Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // closing twice is an error that says nothing new
	return s
}
