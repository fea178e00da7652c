package snapshot

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/staticpod"
)

// requestedAPIs asks every apiserver, as each counts for itself, at its own
// address: the stable one reaches any of them, and the pod proxy passes no
// credentials on. Where one does not answer there, as from a user's machine, the
// stable address stands in, asked again and again as long as it leads to others:
// what it says is of some apiserver.
func requestedAPIs(ctx context.Context, access *rest.Config, pods []corev1.Pod) (apis []preflight.RequestedAPI, unread []string) {
	servers := slices.DeleteFunc(slices.Clone(pods), func(p corev1.Pod) bool { return p.Labels[componentLabel] != apiServer || !staticpod.Is(&p) })
	answers := make([]metricsAnswer, len(servers))
	var group sync.WaitGroup
	for i := range servers {
		group.Go(func() { answers[i] = askDirectly(ctx, access, &servers[i]) })
	}
	group.Wait()
	var silent []string
	var reason error
	reached := map[float64]bool{}
	for i, answer := range answers {
		if answer.err != nil {
			silent, reason = append(silent, servers[i].Spec.NodeName), answer.err
			continue
		}
		apis, reached[answer.started] = append(apis, answer.apis...), true
	}
	if len(servers) > 0 && len(silent) == 0 {
		return apis, nil
	}
	more, err := askTheStable(ctx, access, reached, len(servers))
	if reason == nil {
		reason = err
	}
	switch {
	case len(servers) == 1 && err == nil:
		for i := range more {
			more[i].APIServer = servers[0].Spec.NodeName
		}
		return more, nil
	case len(servers) == 0:
		return more, []string{"No kube-apiserver pod was found in kube-system: which deprecated APIs are called is not known."}
	}
	apis = append(apis, unlike(more, apis)...)
	if len(reached) >= len(servers) {
		return apis, nil
	}
	return apis, []string{fmt.Sprintf("The metrics of the kube-apiserver on %s could not be read (%s): which deprecated APIs were called there is not known.",
		strings.Join(silent, ", "), shortened(reason))}
}

// askTheStable asks at the stable address, over a new connection each time, which a
// balancer may lead to another apiserver. It ends when all were reached, or when
// that leads to no other server any more. Who was reached is added.
func askTheStable(ctx context.Context, access *rest.Config, reached map[float64]bool, servers int) ([]preflight.RequestedAPI, error) {
	const inVain = 3 // asks in a row after which there is nobody new
	var apis []preflight.RequestedAPI
	for vain := 0; vain < inVain && (len(reached) < servers || servers == 0); vain++ {
		answer := readMetrics(ctx, access, "")
		if answer.err != nil {
			return apis, answer.err
		}
		if !reached[answer.started] {
			reached[answer.started], vain = true, -1
		}
		apis = append(apis, unlike(answer.apis, apis)...)
		if servers < 2 {
			break
		}
	}
	return apis, nil
}

// metricsAnswer is what one apiserver says.
type metricsAnswer struct {
	apis []preflight.RequestedAPI
	// started is when in seconds, by which one process is told from another.
	started float64
	err     error
}

// unlike are the APIs that no apiserver whose name is known was asked for.
func unlike(some, known []preflight.RequestedAPI) []preflight.RequestedAPI {
	return slices.DeleteFunc(some, func(api preflight.RequestedAPI) bool {
		return slices.ContainsFunc(known, func(other preflight.RequestedAPI) bool {
			other.APIServer = api.APIServer
			return other == api
		})
	})
}
