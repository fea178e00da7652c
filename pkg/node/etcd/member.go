package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/facts"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// ErrNoMember is the error of Take on a node that runs no member of etcd.
var ErrNoMember = errors.New("no member of etcd runs on this node: there is no " + host.ManifestsDir + "/etcd.yaml, and " +
	"kube-apiserver's --etcd-servers names no address of this node. The snapshot of an etcd elsewhere cannot be taken here. " +
	"Take one where etcd runs, and set strategy.etcdSnapshotPolicy to Skip")

// member is the node's own member, according to its manifest or that of the API server.
type member struct {
	// endpoint is where it serves clients on this node.
	endpoint string
	// ca signed its certificate. cert and key are those of a client.
	ca, cert, key string
}

// The defaults of kubeadm 1.34 (phases/etcd/local.go).
const (
	defaultEndpoint = "https://127.0.0.1:2379"
	defaultPKI      = "/etc/kubernetes/pki/etcd"
)

// findMember reads the manifest of the node's member. A member without one, as a unit of the host, is known from the API
// server's. It returns nil if the node has no member.
func findMember(ctx context.Context, l host.Layout) (*member, error) {
	kubelet := facts.FindKubelet(ctx, l)
	pod, err := kubelet.StaticPod("etcd")
	if err != nil {
		return nil, fmt.Errorf("reading etcd's manifest: %w", err)
	}
	if pod == nil {
		server, err := kubelet.StaticPod("kube-apiserver")
		if err != nil {
			return nil, fmt.Errorf("reading kube-apiserver's manifest: %w", err)
		}
		return memberOfServer(server), nil
	}
	m := &member{endpoint: cmp.Or(pod.Listens("listen-client-urls"), defaultEndpoint), ca: defaultPKI + "/ca.crt"}
	if ca := pod.Flag("trusted-ca-file"); ca != "" {
		m.ca = pod.OnNode(ca)
	}
	// kubeadm keeps the certificate for health checks beside the CA. Where there is none, the
	// member's own is a client's, too: kubeadm makes it for both.
	pki := filepath.Dir(m.ca)
	m.cert, m.key = filepath.Join(pki, "healthcheck-client.crt"), filepath.Join(pki, "healthcheck-client.key")
	cert, key := pod.Flag("cert-file"), pod.Flag("key-file")
	if _, err := os.Stat(l.At(m.cert)); errors.Is(err, fs.ErrNotExist) && cert != "" && key != "" {
		m.cert, m.key = pod.OnNode(cert), pod.OnNode(key)
	}
	return m, nil
}

// memberOfServer returns the member at an address of the node that the API server uses. It returns nil if the API server uses
// none, as that of an etcd on other machines.
func memberOfServer(server *facts.StaticPod) *member {
	if server == nil {
		return nil
	}
	own, _ := server.Advertised()
	for endpoint := range strings.SplitSeq(server.Flag("etcd-servers"), ",") {
		at, err := url.Parse(endpoint)
		if err != nil {
			continue
		}
		address, err := netip.ParseAddr(at.Hostname())
		if at.Hostname() == "localhost" || err == nil && (address.IsLoopback() || address.String() == own) {
			return &member{
				endpoint: endpoint,
				ca:       server.OnNode(server.Flag("etcd-cafile")),
				cert:     server.OnNode(server.Flag("etcd-certfile")),
				key:      server.OnNode(server.Flag("etcd-keyfile")),
			}
		}
	}
	return nil
}

// requestTimeout is how long a member may take to answer a small request.
const requestTimeout = 5 * time.Second

// config returns the configuration of a client of a member. It has the certificate that
// kubeadm creates for health checks, which may read everything.
func (m *member) config(ctx context.Context, l host.Layout, endpoint string) (clientv3.Config, error) {
	config := clientv3.Config{Endpoints: []string{endpoint}, Context: ctx, DialTimeout: requestTimeout, Logger: zap.NewNop()}
	if strings.HasPrefix(endpoint, "http:") {
		return config, nil
	}
	tls, err := transport.TLSInfo{CertFile: l.At(m.cert), KeyFile: l.At(m.key), TrustedCAFile: l.At(m.ca)}.ClientConfig()
	if err != nil {
		return clientv3.Config{}, fmt.Errorf("reading the certificates for etcd's health checks, %s and %s: %w", m.cert, m.ca, err)
	}
	config.TLS = tls
	return config, nil
}

// connect returns a client of the member. It does not wait for the member; the first
// request does.
func (m *member) connect(ctx context.Context, l host.Layout, endpoint string) (*clientv3.Client, error) {
	config, err := m.config(ctx, l, endpoint)
	if err != nil {
		return nil, err
	}
	client, err := clientv3.New(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client of etcd at %s: %w", endpoint, err)
	}
	return client, nil
}

// Health returns the health of each member that this node's member knows; this node's
// member is the first. It returns nil if the node has no member. Errors are reported in
// the field Problem, of the facts or of a member.
func Health(ctx context.Context, l host.Layout) *v1alpha1.EtcdFacts {
	own, err := findMember(ctx, l)
	if err != nil {
		return &v1alpha1.EtcdFacts{Problem: err.Error()}
	}
	if own == nil {
		return nil
	}
	found, err := own.health(ctx, l)
	if err != nil {
		return &v1alpha1.EtcdFacts{Problem: err.Error()}
	}
	return found
}

// health lists the members as the node's own member knows them, with a read that also
// works without a quorum.
func (m *member) health(ctx context.Context, l host.Layout) (*v1alpha1.EtcdFacts, error) {
	client, err := m.connect(ctx, l, m.endpoint)
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(ctx, 2*requestTimeout)
	defer cancel()
	own, done := context.WithTimeout(ctx, requestTimeout)
	defer done()
	list, err := client.MemberList(own, clientv3.WithSerializable())
	if err != nil {
		return nil, fmt.Errorf("listing the members of etcd at %s: %w", m.endpoint, err)
	}
	status, err := client.Status(own, m.endpoint)
	if err != nil {
		return nil, fmt.Errorf("reading the status of etcd at %s: %w", m.endpoint, err)
	}
	first := slices.IndexFunc(list.Members, func(one *etcdserverpb.Member) bool { return one.ID == status.Header.MemberId })
	if first > 0 {
		list.Members[0], list.Members[first] = list.Members[first], list.Members[0]
	}
	found := &v1alpha1.EtcdFacts{Members: make([]v1alpha1.EtcdMember, len(list.Members)), DatabaseBytes: status.DbSize}
	var wait sync.WaitGroup
	for i, one := range list.Members {
		found.Members[i] = v1alpha1.EtcdMember{Name: one.Name, Learner: one.IsLearner}
		endpoint := ""
		if len(one.ClientURLs) > 0 {
			endpoint = one.ClientURLs[0]
		}
		wait.Go(func() { m.check(ctx, l, endpoint, &found.Members[i]) })
	}
	wait.Wait()
	return found, nil
}

// check fills in the health of one member.
func (m *member) check(ctx context.Context, l host.Layout, endpoint string, found *v1alpha1.EtcdMember) {
	if endpoint == "" {
		found.Problem = "has been added and has not started yet"
		return
	}
	version, err := m.status(ctx, l, endpoint, found.Learner)
	found.Version, found.Healthy = version, err == nil
	if err != nil {
		found.Problem = err.Error()
	}
}

// status returns the member's version, and an error if the member is not healthy. As in
// `etcdctl endpoint health`, a read that needs the leader and a majority has to succeed; a
// learner serves no reads.
func (m *member) status(ctx context.Context, l host.Layout, endpoint string, learner bool) (version string, err error) {
	client, err := m.connect(ctx, l, endpoint)
	if err != nil {
		return "", err
	}
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	status, err := client.Status(ctx, endpoint)
	switch {
	case err != nil:
		return "", fmt.Errorf("does not answer at %s: %w", endpoint, err)
	case status.Leader == 0:
		return status.Version, errors.New("has no leader")
	case len(status.Errors) > 0:
		return status.Version, errors.New("reports " + strings.Join(status.Errors, ", "))
	case learner:
		return status.Version, nil
	}
	if _, err := client.Get(ctx, "health"); err != nil {
		return status.Version, fmt.Errorf("does not serve reads: %w", err)
	}
	return status.Version, nil
}
