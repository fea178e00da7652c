package plan

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// The order of a node that has begun stays as it is, so that nothing which it went by is changed under it. But a
// person who loosens the drain that a node hangs in, or what it waits for when it comes back, does so for that node, too.

// mayDrain reports whether the node has begun, and its drain has not ended.
func (n *node) mayDrain() bool {
	return n.phase == v1alpha1.PhaseRevocable && n.status.Step != v1alpha1.StepLastCheck && n.status.Step != v1alpha1.StepAborting
}

// loosened returns the drain with those fields of the wanted one that only loosen it: each takes away something that
// the drain waits for, or gives it more time before it is aborted.
func loosened(drain, wanted v1alpha1.Drain) v1alpha1.Drain {
	defaults := v1alpha1.DefaultStrategy().Drain
	if drain.DoNotDisruptSeconds == nil { // the order of a coordinator that did not know it: the agent waits for no such pod
		drain.DoNotDisruptSeconds = ptr.To[int32](0)
	}
	drain, wanted = drain.Or(defaults), wanted.Or(defaults)
	drain.UnmanagedPods = looser(drain.UnmanagedPods, wanted.UnmanagedPods, v1alpha1.PodsEvict)
	drain.EmptyDirPods = looser(drain.EmptyDirPods, wanted.EmptyDirPods, v1alpha1.PodsEvict)
	drain.OnTimeout = looser(drain.OnTimeout, wanted.OnTimeout, v1alpha1.OnTimeoutDelete)
	if *wanted.TimeoutSeconds > *drain.TimeoutSeconds {
		drain.TimeoutSeconds = wanted.TimeoutSeconds
	}
	if *wanted.VolumesDetachedSeconds < *drain.VolumesDetachedSeconds {
		drain.VolumesDetachedSeconds = wanted.VolumesDetachedSeconds
	}
	if *wanted.DoNotDisruptSeconds < *drain.DoNotDisruptSeconds {
		drain.DoNotDisruptSeconds = wanted.DoNotDisruptSeconds
	}
	// -1 is each pod's own, which may be shorter than any other number but 0.
	if own := *drain.GracePeriodSeconds < 0; *wanted.GracePeriodSeconds == 0 || !own && *wanted.GracePeriodSeconds >= 0 {
		drain.GracePeriodSeconds = shorter(drain.GracePeriodSeconds, wanted.GracePeriodSeconds)
	}
	if rulesLoosen(drain.Rules, wanted.Rules) {
		drain.Rules = wanted.Rules
	}
	return drain
}

// loosenedWhole returns what a node has to have again with those fields of the wanted one that only loosen it: each leaves
// a part out, or gives it more time.
func loosenedWhole(whole, wanted v1alpha1.Whole) v1alpha1.Whole {
	defaults := v1alpha1.DefaultStrategy().Whole
	whole, wanted = whole.Or(defaults), wanted.Or(defaults)
	for part, wants := range map[*v1alpha1.PartHandling]v1alpha1.PartHandling{
		&whole.Resources: wanted.Resources, &whole.Drivers: wanted.Drivers, &whole.DaemonSets: wanted.DaemonSets,
		&whole.Extensions: wanted.Extensions, &whole.Taints: wanted.Taints, &whole.Network: wanted.Network,
	} {
		*part = looser(*part, wants, v1alpha1.PartIgnore)
	}
	if *wanted.TimeoutSeconds > *whole.TimeoutSeconds {
		whole.TimeoutSeconds = wanted.TimeoutSeconds
	}
	return whole
}

// looser returns the wanted value if that is the one that loosens.
func looser[T comparable](is, wanted, loosens T) T {
	if wanted == loosens {
		return wanted
	}
	return is
}

// shorter returns the shorter of two times in seconds, of which the first may be -1, for one that is not known.
func shorter(is, wanted *int32) *int32 {
	if *is < 0 || *wanted < *is {
		return wanted
	}
	return is
}

// strictness orders what a rule does with a pod. What no rule selects is drained.
var strictness = map[v1alpha1.DrainBehavior]int{v1alpha1.DrainSkip: 0, v1alpha1.DrainPod: 1, v1alpha1.DrainWaitCompleted: 2}

// rulesLoosen reports whether no pod, whatever its labels, is treated more strictly by the wanted rules: of each pod
// the first rule that selects it decides. So rules that skip may come anywhere, rules that wait may go, and each
// other one stays in its place and does not become stricter.
func rulesLoosen(rules, wanted []v1alpha1.DrainRule) bool {
	left := rules
	for _, rule := range wanted {
		rest := left
		for len(rest) > 0 && !selectsSame(rest[0], rule) && rest[0].Behavior == v1alpha1.DrainWaitCompleted {
			rest = rest[1:]
		}
		switch {
		case len(rest) > 0 && selectsSame(rest[0], rule) && cmp.Compare(strictness[rule.Behavior], strictness[rest[0].Behavior]) <= 0:
			left = rest[1:]
		case rule.Behavior != v1alpha1.DrainSkip:
			return false
		}
	}
	for _, rule := range left {
		if rule.Behavior != v1alpha1.DrainWaitCompleted {
			return false
		}
	}
	return true
}

// selectsSame reports whether two rules select the same pods.
func selectsSame(a, b v1alpha1.DrainRule) bool {
	a.Name, a.Behavior = b.Name, b.Behavior
	return equality.Semantic.DeepEqual(a, b)
}
