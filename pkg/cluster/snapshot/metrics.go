package snapshot

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// requestedAPIs reads the metrics of every apiserver, because each counts only its own
// requests. It uses their own addresses: the stable address leads to any of them, and the
// pod proxy does not forward credentials. For apiservers that are not reachable at their
// own address, as from a user's machine, it reads the metrics at the stable address, as
// long as that leads to further apiservers. Their names are then not known.
func requestedAPIs(ctx context.Context, access *rest.Config, pods []corev1.Pod) (apis []preflight.RequestedAPI, unread []string) {
	servers := slices.DeleteFunc(slices.Clone(pods), func(p corev1.Pod) bool { return p.Labels[componentLabel] != apiServer || !fleet.IsStaticPod(&p) })
	answers := make([]metricsAnswer, len(servers))
	var group sync.WaitGroup
	for i := range servers {
		group.Go(func() { answers[i] = readDirectly(ctx, access, &servers[i]) })
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
	more, err := readStable(ctx, access, reached, len(servers))
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
	apis = append(apis, newAPIs(more, apis)...)
	if len(reached) >= len(servers) {
		return apis, nil
	}
	return apis, []string{fmt.Sprintf("The metrics of the kube-apiserver on %s could not be read (%s): which deprecated APIs were called there is not known.",
		strings.Join(silent, ", "), shortened(reason))}
}

// readStable reads metrics at the stable address, over a new connection each time, which a
// load balancer may send to another apiserver. It ends when all apiservers were reached,
// or after maxRepeats answers in a row from ones already reached. It adds those it reaches
// to reached.
func readStable(ctx context.Context, access *rest.Config, reached map[float64]bool, servers int) ([]preflight.RequestedAPI, error) {
	const maxRepeats = 3
	var apis []preflight.RequestedAPI
	for repeats := 0; repeats < maxRepeats && (len(reached) < servers || servers == 0); repeats++ {
		answer := readMetrics(ctx, access, "")
		if answer.err != nil {
			return apis, answer.err
		}
		if !reached[answer.started] {
			reached[answer.started], repeats = true, -1
		}
		apis = append(apis, newAPIs(answer.apis, apis)...)
		if servers < 2 {
			break
		}
	}
	return apis, nil
}

// metricsAnswer has the metrics of one apiserver.
type metricsAnswer struct {
	apis []preflight.RequestedAPI
	// started is the start time of the process in seconds, which identifies it.
	started float64
	err     error
}

// newAPIs returns those of some that are not in known, whichever apiserver reports them.
func newAPIs(some, known []preflight.RequestedAPI) []preflight.RequestedAPI {
	return slices.DeleteFunc(some, func(api preflight.RequestedAPI) bool {
		return slices.ContainsFunc(known, func(other preflight.RequestedAPI) bool {
			other.APIServer = api.APIServer
			return other == api
		})
	})
}
