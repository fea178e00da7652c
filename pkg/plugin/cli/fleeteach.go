package cli

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// member is one of the clusters, once its API server has answered.
type member struct {
	fleet.Cluster
	access *rest.Config
	reader *reader
	uid    string // of the namespace kube-system; empty: that may not be read
}

// mostConnecting is how many clusters are waited for at once. Silent ones hold no other up as long as
// there are no more of them.
const mostConnecting = 256

// clusterGrace is how long a cluster may take to notice that its time is over. A program that gets
// credentials, for example, is not told.
const clusterGrace = 200 * time.Millisecond

// errStuck is why there is no result of work that does not end by itself.
var errStuck = errors.New("something that it waits for cannot be interrupted, such as a program that gets credentials")

// pool limits how many clusters are asked at once.
type pool struct{ connecting, reading chan struct{} }

func (f *fleetCommand) newPool() pool {
	return pool{make(chan struct{}, mostConnecting), make(chan struct{}, f.parallel)}
}

// within runs work with a limit. It returns in time also where work does not.
func within[T any](ctx context.Context, limit time.Duration, version string, work func(context.Context) (T, error)) (result T, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type outcome struct {
		result T
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		if fault := withoutStack(version, func() error { o.result, o.err = work(ctx); return nil }); fault != nil {
			o.err = fault
		}
		if o.err != nil && ctx.Err() != nil { // whatever was made of it
			o.err = errors.Join(ctx.Err(), o.err)
		}
		done <- o
	}()
	select {
	case o := <-done:
		return o.result, o.err
	case <-ctx.Done():
	}
	select {
	case o := <-done:
		return o.result, o.err
	case <-time.After(clusterGrace):
		return result, errors.Join(ctx.Err(), errStuck)
	}
}

// withMember waits for an answer of the cluster, and does work once it is its turn; each has the limit.
// What we ask in turn is not the cluster's time: so silent clusters do not hold others up, and many that
// answer do not make each other late.
func withMember[T any](ctx context.Context, f *fleetCommand, p pool, c fleet.Cluster, work func(context.Context, member) (T, error)) (result T, trouble *view.Problem) {
	p.connecting <- struct{}{}
	var access *rest.Config
	m, err := within(ctx, f.limit, f.version, func(ctx context.Context) (m member, err error) {
		if access, err = f.config(c.Context); err != nil {
			return m, badContext{err}
		}
		return f.reach(ctx, c, access)
	})
	<-p.connecting
	if err != nil {
		return result, troubleOf(err, c.Context, access, f.limit)
	}
	p.reading <- struct{}{}
	defer func() { <-p.reading }()
	result, err = within(ctx, f.limit, f.version, func(ctx context.Context) (T, error) { return work(ctx, m) })
	if err != nil {
		return result, troubleOf(err, c.Context, m.access, f.limit)
	}
	return result, nil
}

// reach returns the cluster once it has answered.
func (f *fleetCommand) reach(ctx context.Context, c fleet.Cluster, access *rest.Config) (m member, err error) {
	m = member{Cluster: c, access: access}
	if m.reader, err = f.in(access, io.Discard, io.Discard).reader(); err != nil {
		return m, err
	}
	namespace, err := m.reader.kube.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	switch {
	case err == nil:
		m.uid = string(namespace.UID)
	case apierrors.IsForbidden(err), isMissing(err): // that is an answer, too
	default:
		return m, err
	}
	f.reached.add(c.Context, m.reader)
	return m, nil
}

// forEach does work for each cluster, and returns the results in their order. failed returns that of a
// cluster without one, and of one that another context leads to.
func forEach[T any](ctx context.Context, f *fleetCommand, all []fleet.Cluster, work func(context.Context, member) (T, error), failed func(fleet.Cluster, *view.Problem) T) []T {
	results := make([]T, len(all))
	p := f.newPool()
	var group sync.WaitGroup
	for i, c := range all {
		group.Go(func() {
			defer utilruntime.HandleCrash()
			if c.Repeated {
				results[i] = failed(c, fleet.SameCluster(c))
				return
			}
			result, trouble := withMember(ctx, f, p, c, work)
			if results[i] = result; trouble != nil {
				results[i] = failed(c, trouble)
			}
		})
	}
	group.Wait()
	return results
}
