package etcd

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
)

// answerWithin is how long a member may take to answer a small question.
const answerWithin = 5 * time.Second

// config is how a member is reached: with the client certificate that kubeadm
// makes for health checks, which may read everything.
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
		DialTimeout: answerWithin, Logger: zap.NewNop(),
	}, nil
}

// connect does not wait for the member: the first question does.
func (m *member) connect(ctx context.Context, l host.Layout, endpoint string) (*clientv3.Client, error) {
	config, err := m.config(ctx, l, endpoint)
	if err != nil {
		return nil, err
	}
	client, err := clientv3.New(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of etcd at %s: %w", endpoint, err)
	}
	return client, nil
}
