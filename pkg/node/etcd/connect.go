package etcd

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// requestTimeout is how long a member may take to answer a small request.
const requestTimeout = 5 * time.Second

// config returns the configuration of a client of a member. It has the certificate that
// kubeadm creates for health checks, which may read everything.
func (m *member) config(ctx context.Context, l host.Layout, endpoint string) (clientv3.Config, error) {
	tls, err := transport.TLSInfo{
		CertFile:      l.At(filepath.Join(m.pki, "healthcheck-client.crt")),
		KeyFile:       l.At(filepath.Join(m.pki, "healthcheck-client.key")),
		TrustedCAFile: l.At(filepath.Join(m.pki, "ca.crt")),
	}.ClientConfig()
	if err != nil {
		return clientv3.Config{}, fmt.Errorf("reading the certificates for etcd's health checks in %s: %w", m.pki, err)
	}
	return clientv3.Config{
		Endpoints: []string{endpoint}, TLS: tls, Context: ctx,
		DialTimeout: requestTimeout, Logger: zap.NewNop(),
	}, nil
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
