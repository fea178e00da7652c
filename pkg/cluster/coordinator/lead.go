package coordinator

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// How soon another replica takes over. The times are short, because two leaders at once
// break nothing.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

// leaseName is the Lease that the leader holds.
const leaseName = "coordinator"

// Lead runs work whenever this replica is the leader, until ctx ends. Losing the
// lead, as when the only apiserver is away, ends work and not the program. onLeader is
// called with the identity of each new leader.
func Lead(ctx context.Context, kube kubernetes.Interface, identity string, log *slog.Logger, onLeader func(identity string), work func(context.Context) error) error {
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: leaseName},
		Client:     kube.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}
	for ctx.Err() == nil {
		if err := leadOnce(ctx, lock, log, onLeader, work); err != nil {
			return err
		}
	}
	return nil
}

// leadOnce waits to become the leader and runs work until it is no longer the leader.
// It returns after work has returned.
func leadOnce(ctx context.Context, lock resourcelock.Interface, log *slog.Logger, onLeader func(string), work func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	began, ended := make(chan struct{}), make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, Name: leaseName, ReleaseOnCancel: true,
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				close(began)
				log.Info("this replica is the leader")
				ended <- work(ctx)
				stop()
			},
			OnStoppedLeading: func() {},
			OnNewLeader:      onLeader,
		},
	})
	if err != nil {
		return fmt.Errorf("preparing leader election: %w", err)
	}
	elector.Run(ctx)
	if ctx.Err() == nil { // the lead was lost, so there was one
		stop()
		err := <-ended
		log.Warn("this replica is no longer the leader")
		return err
	}
	select {
	case <-began:
		return <-ended
	default:
		return nil
	}
}
