package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/access"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// How old facts may be, and how soon a failed request is repeated.
const (
	factsAge        = 5 * time.Minute
	factsAgeProblem = 15 * time.Second // while there is a problem that a person may fix, or the guard may act
	factsRetry      = 10 * time.Second
)

// hostView holds the last facts of the host's files.
type hostView struct {
	facts *verb.HostFacts
	after string    // the upgrade and the work that facts were gathered after
	at    time.Time // when they were asked for
	asked pendingRequest
	wrong string // why the last gathering failed
	// configurationChanged reports whether the cluster had another ClusterConfiguration after that than the last pull.
	configurationChanged bool
}

// pendingRequest is one request for facts. Its key is never used twice: the answer to
// an older one may be from another boot.
type pendingRequest struct {
	key   string
	after string
	at    time.Time
	open  bool
}

// gather takes the result of the last request, and requests facts again if they are too
// old. Old facts remain valid until then, unless a verb has ended or another upgrade was
// requested since.
func (h *hostSense) gather(ctx context.Context, r *round, after string) error {
	running, last, err := h.Host.Last(ctx, verb.Facts)
	if err != nil || running {
		return err
	}
	seen := &h.seen
	if seen.asked.open && last != nil && last.Key == seen.asked.key {
		if err := seen.answer(last); err != nil {
			return err
		}
		h.engine.ask.Store(true) // so that its status is no older than the facts
		h.compareConfiguration(ctx, r)
	}
	age := r.Now.Sub(seen.asked.at)
	stale := seen.facts == nil || seen.wrong != "" || seen.after != after || age >= seen.maxAge() ||
		seen.at.Before(machine.HostSince(r.state, r.Observation, seen.facts.ConfProblem))
	if (seen.asked.open || seen.wrong != "") && age < factsRetry {
		stale = false
	}
	if stale {
		return h.requestFacts(ctx, r.Now, after)
	}
	if seen.wrong != "" {
		return errors.New(seen.wrong)
	}
	return nil
}

// compareConfiguration reads whether kubeadm's ClusterConfiguration, or kube-proxy's configuration, has changed since
// container images were pulled for an upgrade of this control plane. One that cannot be read now is compared with the next facts.
func (h *hostSense) compareConfiguration(ctx context.Context, r *round) {
	facts := h.seen.facts
	if facts == nil || facts.PulledFor == "" || r.Spec.Upgrade == nil || h.seen.wrong != "" {
		h.seen.configurationChanged = false
		return
	}
	ctx, cancel := context.WithTimeout(ctx, rulesTimeout)
	defer cancel()
	config, err := h.clusterConfiguration(ctx)
	proxy, err2 := h.kubeProxyConfig(ctx)
	if err != nil || err2 != nil {
		return
	}
	otherProxy := proxy != "" && facts.PulledForProxy != "" && clusterstate.ConfigurationHash(proxy) != facts.PulledForProxy
	h.seen.configurationChanged = otherProxy || clusterstate.ConfigurationHash(config) != facts.PulledFor
}

func (v *hostView) answer(last *verb.Result) error {
	v.asked.open, v.wrong = false, ""
	if !last.OK {
		v.wrong = "gathering the host's facts: " + last.Message
		return nil
	}
	var facts verb.HostFacts
	if err := last.Decode(&facts); err != nil {
		return fmt.Errorf("reading the host's facts: %w", err)
	}
	if dir := facts.CertificateDir; dir != "" {
		if _, err := os.Stat(dir); err != nil { // the kubelet.conf that the pod has mounted may be a former one
			access.AddProblem(facts.Node.Rehearsals, access.NotMounted(dir))
		}
	}
	v.facts, v.after, v.at = &facts, v.asked.after, v.asked.at
	return nil
}

func (h *hostSense) requestFacts(ctx context.Context, now time.Time, after string) error {
	key := now.UTC().Format(time.RFC3339Nano)
	if err := h.start(ctx, verb.Facts, key, verb.Input{}, false); err != nil {
		return err
	}
	h.seen.asked = pendingRequest{key: key, after: after, at: now, open: true}
	return nil
}

// maxAge returns how old the facts may be. The node's definitions matter only where
// Kubernetes comes as a sysext image.
func (v *hostView) maxAge() time.Duration {
	problem := v.facts.Unsupported == nil && (v.facts.ConfProblem != "" || v.facts.MissingImage != "" || v.facts.Armed)
	rehearsed := slices.ContainsFunc(v.facts.Node.Rehearsals, func(r v1alpha1.Rehearsal) bool { return len(r.Problems) > 0 })
	if problem || rehearsed || v.facts.Guarded || v.facts.KubeletProblem != "" {
		return factsAgeProblem
	}
	return factsAge
}

const engineTimeout = 5 * time.Second

// engineView is the last status of Flatcar's update_engine.
type engineView struct {
	// ask is set when the status may have changed: update_engine sent a signal, or the
	// host's facts are being gathered.
	ask     atomic.Bool
	status  string
	problem string // why the last read failed; status is kept
}

// readUpdateEngine reads update_engine's status if it may have changed. An error only means
// that the node is not rebooted for it.
func (h *hostSense) readUpdateEngine(ctx context.Context) {
	if !h.engine.ask.Swap(false) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	status, err := h.Host.UpdateEngine(ctx)
	if err != nil {
		h.Log.WarnContext(ctx, "asking update_engine", "node", h.Node, "error", err)
		h.engine.problem = err.Error()
		return
	}
	h.engine.status, h.engine.problem = status, ""
}

// osReboot reports whether the operating system requires a reboot, and why.
// update_engine touches /run/reboot-required too, and says more.
func osReboot(f verb.HostFacts, updateEngine string) (required bool, reason string) {
	if updateEngine == host.UpdateEngineNeedReboot {
		return true, "the operating system asks for a reboot: Flatcar's update_engine has installed an update (" + updateEngine + ")"
	}
	return f.RebootRequired, f.RebootReason
}

// rebootReason returns every reason for a reboot, Kubernetes' own first; or an empty
// string.
func rebootReason(f verb.HostFacts, updateEngine string) string {
	var reasons []string
	if f.Active != "" && f.Merged != "" && f.Active != f.Merged {
		reasons = append(reasons, fmt.Sprintf("runs %s, and the next boot brings %s", f.Merged, f.Active))
	}
	if required, reason := osReboot(f, updateEngine); required {
		reasons = append(reasons, reason)
	}
	return strings.Join(reasons, "; ")
}
