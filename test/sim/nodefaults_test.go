package sim

import (
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// injectNode injects a fault into a node.
func (w *world) injectNode(n *node, f fault) {
	k := key{Resource: "nodes", Name: n.name}
	switch f.Kind {
	case "power cut":
		n.cut()
		w.until(f, n.power)
	case "manual reboot":
		n.shutdown(false, "a person reboots it")
	case "kubelet dies":
		n.kubeletDies()
		w.until(f, n.restartKubelet)
	case "partition":
		n.renew()
		n.partitioned = true
		w.watchLost(n)
		w.until(f, func() { w.heal(n) })
	case "replace node", "delete node":
		w.remove(n, f)
	case "cordon":
		w.edit(k, func(t tree) {
			annotations := child(t, "metadata", "annotations")
			if spec := child(t, "spec"); spec["unschedulable"] != true && annotations[v1alpha1.CordonAnnotation] == nil {
				spec["unschedulable"] = true
				w.foreign[n.uid] = true
			}
		})
	case "clock", "image vanishes", "kubeadm record lost", "joined later", "odd extension", "containerd fails", "os update":
		w.injectHost(n, f)
	case "abandon":
		w.edit(key{Resource: "nodeupgrades", Name: n.name}, func(t tree) { t["abandoned"] = tree{"comment": "it hangs"} })
	case "go back":
		w.goBack(n, f)
	case "recordon":
		w.recordon(n, f)
	case "late part", "late taint":
		w.injectParts(n, f)
	case "condition":
		w.injectCondition(n, f)
	case "hold":
		w.setHold(n, true)
		w.until(f, func() { w.setHold(n, false) })
	case "uncordon":
		w.edit(k, func(t tree) { delete(child(t, "spec"), "unschedulable") })
		delete(w.foreign, n.uid)
	case "lie":
		w.lie(n, f)
	case "request lost":
		w.loseRequest(n, f)
	case "cordon unseen":
		w.hideCordon(n, f)
	case "lose order":
		w.loseOrder(n, f)
	case "touch reboot file", "remove reboot file":
		w.touchRebootFile(n, f)
	case "renewal hangs":
		n.certificates.hangs = f.For * 8
	case "renewal killed":
		n.killRenewal()
	case "verb fails":
		n.failing[verb.Verb(f.Other)] = f.Number
	case "drain blocked":
		n.blocked = true
		w.until(f, func() { n.blocked = false })
	case "forge mark":
		w.edit(k, func(t tree) {
			annotations := child(t, "metadata", "annotations")
			if annotations[v1alpha1.SlotAnnotation] == nil {
				annotations[v1alpha1.SlotAnnotation] = fmt.Sprintf("slot-%d", f.Number%3)
			}
		})
	case "forge snapshot":
		if n.controlPlane {
			return // its own agent is believed
		}
		k := key{Resource: "nodeupgrades", Name: n.name}
		w.edit(k, func(t tree) {
			child(t, "status")["etcdSnapshot"] = tree{"node": n.name, "path": "/forged", "digest": string(v1alpha1.DigestOf(digest(9))), "creationTime": w.now().UTC().Format(time.RFC3339)}
		})
	default:
		w.broken("script", "there is no fault %q", f.Kind)
	}
}

// recordon removes the agent's cordon as a person, and cordons the node later.
func (w *world) recordon(n *node, f fault) {
	k := key{Resource: "nodes", Name: n.name}
	w.edit(k, func(t tree) {
		if text(inner(metadata(t), "annotations"), v1alpha1.CordonAnnotation) == "" {
			return
		}
		delete(child(t, "spec"), "unschedulable")
		w.until(f, func() {
			w.edit(k, func(t tree) {
				if spec := child(t, "spec"); text(metadata(t), "uid") == n.uid && spec["unschedulable"] != true {
					spec["unschedulable"] = true
					w.foreign[n.uid] = true
				}
			})
		})
	})
}

// setHold puts the node on hold, or ends that.
func (w *world) setHold(n *node, hold bool) {
	if n.removed {
		return
	}
	w.edit(key{Resource: "nodes", Name: n.name}, func(t tree) {
		if labels := child(t, "metadata", "labels"); hold {
			labels[v1alpha1.HoldLabel] = ""
		} else {
			delete(labels, v1alpha1.HoldLabel)
		}
	})
}

func (w *world) heal(n *node) {
	if !n.partitioned {
		return
	}
	n.partitioned, n.healedAt = false, w.now()
	w.report(n)
	w.pods(n)
	w.startAgent(n)
}

// remove deletes a Node whose machine is gone. Another one may come under its name.
func (w *world) remove(n *node, f fault) {
	if n.controlPlane {
		return // that is another procedure
	}
	n.cut()
	n.removed = true
	w.api.remove("admin", key{Resource: "nodes", Name: n.name})
	w.collect(n.uid)
	if f.Kind == "replace node" {
		w.after(time.Second+f.For/4, "join "+n.name, func() { w.join(n.name, false) })
	}
}

// evict reports whether a pod may be evicted.
func (w *world) evict(k key) error {
	found := w.api.objects[k]
	if found == nil {
		return nil
	}
	if n := w.node(text(child(clone(found.tree).(tree), "spec"), "nodeName")); n != nil && n.blocked {
		return apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
	}
	return nil
}
