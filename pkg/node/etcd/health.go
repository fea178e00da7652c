package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// Health returns the health of each member that this node's member knows; this node's
// member is the first. It returns nil if the node has no member. Errors are reported in
// the field Problem, of the facts or of a member.
func Health(ctx context.Context, l host.Layout) *v1alpha1.EtcdFacts {
	own, err := findMember(l)
	if err != nil {
		return &v1alpha1.EtcdFacts{Problem: err.Error()}
	}
	if own == nil {
		return nil
	}
	facts, err := own.health(ctx, l)
	if err != nil {
		return &v1alpha1.EtcdFacts{Problem: err.Error()}
	}
	return facts
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
	facts := &v1alpha1.EtcdFacts{Members: make([]v1alpha1.EtcdMember, len(list.Members)), DatabaseBytes: status.DbSize}
	var wait sync.WaitGroup
	for i, one := range list.Members {
		facts.Members[i] = v1alpha1.EtcdMember{Name: one.Name, Learner: one.IsLearner}
		endpoint := ""
		if len(one.ClientURLs) > 0 {
			endpoint = one.ClientURLs[0]
		}
		wait.Go(func() { m.check(ctx, l, endpoint, &facts.Members[i]) })
	}
	wait.Wait()
	return facts, nil
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
