package cli

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
)

const (
	suspendInstead  = "`kubectl upgrade suspend` stops it before the next node"
	endInstead      = suspendInstead + ", and `kubectl delete clusterupgrade NAME` then ends it, which the history calls Canceled"
	resumeInstead   = "`kubectl upgrade resume` continues it"
	rollbackInstead = "`kubectl upgrade rollback --all --reason TEXT` takes kubelets back to the former patch"
	logInstead      = "`kubectl upgrade status NODE --log` prints kubeadm's output on a node"
	applyInstead    = "`kubectl upgrade apply VERSION` upgrades the cluster"
	renewInstead    = "did you mean `kubectl upgrade certificates renew`?"
	statusInstead   = "`kubectl upgrade status` shows the upgrade and each node"
	whyInstead      = "`kubectl upgrade status NODE` says why a node waits, and `kubectl upgrade plan` why the upgrade does, and until when"
	planInstead     = "`kubectl upgrade plan` shows what would happen next, and when"
	holdInstead     = "`kubectl label node NODE " + v1alpha1.HoldLabel + "=` keeps one node from beginning, `kubectl upgrade suspend` stops the upgrade before " +
		"the next node, and `kubectl upgrade freeze --for 4h --reason TEXT` holds all upgrades"
	releaseInstead = "`kubectl label node NODE " + v1alpha1.HoldLabel + "-` lets a node on hold begin, `kubectl upgrade resume` continues an upgrade, and " +
		"`kubectl upgrade unfreeze` ends a freeze"
)

// otherWords are what people type for a command whose name is no spelling of it.
var otherWords = map[string]string{
	"pause": suspendInstead, "stop": suspendInstead, "halt": suspendInstead,
	"cancel": endInstead, "abort": endInstead, "delete": endInstead,
	"continue": resumeInstead, "unpause": resumeInstead, "unsuspend": resumeInstead,
	"undo": rollbackInstead, "revert": rollbackInstead, "downgrade": rollbackInstead,
	"log": logInstead, "logs": logInstead,
	"start": applyInstead, "run": applyInstead, "upgrade": applyInstead,
	"why": whyInstead, "explain": whyInstead, "describe": whyInstead, "reason": whyInstead, "reasons": whyInstead, "held": whyInstead, "waiting": whyInstead,
	"hold": holdInstead, "lock": holdInstead, "exclude": holdInstead, "skip": holdInstead,
	"unhold": releaseInstead, "unlock": releaseInstead, "release": releaseInstead, "thaw": releaseInstead,
	"when": planInstead, "next": planInstead, "diff": planInstead, "preview": planInstead,
	"get": statusInstead, "show": statusInstead, "nodes": statusInstead,
	"retry":    "`kubectl upgrade apply VERSION --retry` replaces an upgrade that failed",
	"list":     "`kubectl upgrade history` lists the upgrades that have ended, and `kubectl upgrade status` shows the active one",
	"watch":    "`kubectl upgrade status --watch` follows the upgrade",
	"versions": "`kubectl upgrade releases` lists the versions that are available",
	"restart":  "`kubectl upgrade reboot --reason TEXT` reboots the nodes that ask for it, and with NODE --force those that do not",
	"renew":    renewInstead, "rotate": renewInstead,
	"check": "`kubectl upgrade doctor` says whether all is well",
}

// meant returns what the word was probably meant for, with the command for it; empty: nothing is known.
func meant(word string) string {
	if request.CheckVersion(word) == nil {
		return fmt.Sprintf("`kubectl upgrade plan %s` shows what would happen, and `kubectl upgrade apply %s` does it", word, word)
	}
	return otherWords[word]
}
