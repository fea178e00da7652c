package migrate

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

func (k *kured) concurrency(row *Row, s setting) {
	row.Matters = true
	n := max(s.number(), 1)
	limit := intstr.FromInt(n)
	k.Policy.Strategy.MaxUnavailable = &limit
	row.Becomes = fmt.Sprintf("strategy.maxUnavailable: %d", n)
	if n > 1 {
		row.Note = "control-plane nodes go one at a time all the same"
	}
}

// most is the API's limit for a time, a day.
const most = 24 * 60 * 60

// seconds returns a duration in whole seconds, rounded up, and a note if it is longer than the
// API allows.
func seconds(d time.Duration) (n int32, note string) {
	if d > most*time.Second {
		return most, "a day is the most"
	}
	return int32(math.Ceil(d.Seconds())), ""
}

func (k *kured) lockReleaseDelay(row *Row, s setting) {
	d := s.duration()
	if d <= 0 {
		row.Meaning, row.Matters = NotNeeded, true
		row.Note = "a node must stay Ready for strategy.settleSeconds, 120 by default, before it is uncordoned and the next one begins"
		return
	}
	n, note := seconds(d)
	k.Policy.Strategy.MinReadySeconds = &n
	row.Becomes, row.Note = fmt.Sprintf("strategy.minReadySeconds: %d", n), cmp.Or(note, "the node must be Ready all that time")
}

func (k *kured) drainTimeout(row *Row, s setting) {
	row.Matters = true
	d := s.duration()
	if d <= 0 {
		row.Meaning, row.Becomes = Nearest, "strategy.drain.timeoutSeconds: 900 (the default)"
		row.Note = "kured waits without limit, and every other node with it. An agent uncordons its node, lets others go and tries again"
		return
	}
	n, note := seconds(d)
	k.Policy.Strategy.Drain.TimeoutSeconds = &n
	row.Becomes, row.Note = fmt.Sprintf("strategy.drain.timeoutSeconds: %d", n), note
}

func (k *kured) drainGracePeriod(row *Row, s setting) {
	n := int32(min(max(s.number(), -1), math.MaxInt32))
	row.Becomes = fmt.Sprintf("strategy.drain.gracePeriodSeconds: %d", n)
	if n < 0 {
		row.Becomes += " (the default)"
		return
	}
	k.Policy.Strategy.Drain.GracePeriodSeconds = &n
}

func (k *kured) forceReboot(row *Row, s setting) {
	row.Matters = true
	switch {
	case !s.isTrue():
		row.Becomes = "strategy.drain.onTimeout: Abort (the default)"
	case len(k.settings["blocking-pod-selector"].values) > 0:
		row.Meaning, row.Note = None, "onTimeout: Delete would delete also the pods of --blocking-pod-selector, for which kured waits"
	default:
		k.Policy.Strategy.Drain.OnTimeout = v1alpha1.OnTimeoutDelete
		row.Meaning, row.Becomes = Nearest, "strategy.drain.onTimeout: Delete"
		row.Note = "a node with pods left does not reboot: those that could not be evicted are deleted"
	}
}

// builtIn adds the rows of what kured does without a flag.
func (k *kured) builtIn() {
	k.Policy.Strategy.Drain.UnmanagedPods = v1alpha1.PodsEvict
	k.Rows = append(k.Rows, Row{
		Setting: "kured's drain", Value: "evicts pods without a controller", Matters: true,
		Becomes: "strategy.drain.unmanagedPods: Evict", Note: "leave it out if such pods are to block the drain",
	})
}
