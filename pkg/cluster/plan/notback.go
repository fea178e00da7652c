package plan

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// A node on which nothing of Kubernetes is merged has no agent that could say so. Its guard writes
// that on its Node. The kubelet of a node may write any value there: it is shown for that node, and
// changes nothing for others.

// silentAfter is how long after it ceased to be Ready a node that reboots is said to be silent.
const silentAfter = 2 * time.Minute

// notBackYet returns what is known of a node that is out of service and does not report.
func (n *node) notBackYet(now time.Time) clusterstate.Hold {
	known := ""
	if says := n.guardSays(); says != "" {
		known = "its guard says: " + says
	} else if at := n.silentAt(); at != nil && !now.Before(*at) {
		known = n.silence()
	}
	if known == "" {
		return clusterstate.Hold{}
	}
	return clusterstate.Hold{Reason: v1alpha1.ReasonNodeNotBack, Message: known}
}

// guardSays returns what the node's guard says of this attempt. Once the node is Ready again, its
// agent does; what a guard said before the step began is old, by the node's own clock.
func (n *node) guardSays() string {
	r := n.Guard
	if r == nil || n.Ready || !n.mayReboot() || n.status.Upgrade == nil || r.Upgrade != n.status.Upgrade.UID {
		return ""
	}
	if began := n.status.StepStartTime; began != nil && r.Time.Before(began.Time) {
		return ""
	}
	return r.Message
}

// silentAt returns when a node that reboots is said to be silent; nil: never.
func (n *node) silentAt() *time.Time {
	if n.Ready || n.NotReadySince == nil || n.status.Step != v1alpha1.StepRebooting || n.status.StepStartTime == nil {
		return nil
	}
	at := n.NotReadySince.Add(silentAfter)
	return &at
}

// silence says since when a node that reboots is silent. A Reboot has no guard.
func (n *node) silence() string {
	since := "silent since the reboot at " + clusterstate.FormatTime(n.status.StepStartTime.Time)
	if n.spec.Version == "" {
		return since
	}
	return fmt.Sprintf("%s; read the guard's journal on the node: journalctl -u %s", since, guardUnit)
}

// guardUnit is the unit of the guard on a node.
const guardUnit = "kubectl-upgrade-guard.service"
