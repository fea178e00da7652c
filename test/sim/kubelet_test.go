package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// What kubelets, the node controller, the garbage collector and the scheduler write.

// report writes the Node's status as its kubelet does, as soon as the API server is reachable.
func (w *world) report(n *node) {
	if n.removed || !n.on || n.kubelet == "" {
		return
	}
	if n.partitioned || !w.apiUp() {
		w.after(3*time.Second, "report "+n.name, func() { w.report(n) })
		return
	}
	w.setNode(n, n.ready)
	if n.ready {
		w.after(10*time.Second, "schedule pods", func() { w.schedule(n) })
	}
}

func (w *world) setNode(n *node, ready bool) {
	k := key{Resource: "nodes", Name: n.name}
	w.edit(k, func(t tree) {
		if text(metadata(t), "uid") != n.uid {
			return
		}
		status := child(t, "status")
		if n.kubelet != "" {
			info := child(status, "nodeInfo")
			info["kubeletVersion"], info["bootID"] = cmp.Or(n.says, n.kubelet), n.bootID()
			info["operatingSystem"], info["architecture"] = "linux", host.Architecture()
		}
		n.parts.show(t, w.now())
		now := map[bool]string{true: "True", false: "False"}[ready]
		since := w.now().UTC().Format(time.RFC3339)
		_, conditions := entries(status["conditions"], "type")
		if was := conditions["Ready"]; was["status"] == now {
			since = text(was, "lastTransitionTime")
		}
		setConditions(status, tree{"type": "Ready", "status": now, "lastTransitionTime": since})
	})
}

// setConditions sets conditions, and keeps those of other types.
func setConditions(status tree, set ...tree) {
	for _, one := range set {
		items, _ := status["conditions"].([]any)
		i := slices.IndexFunc(items, func(item any) bool { return text(item.(tree), "type") == text(one, "type") })
		if i >= 0 {
			items[i] = one
		} else {
			status["conditions"] = append(items, one)
		}
	}
}

const (
	renewEvery = 10 * time.Second // a kubelet's Lease
	renewAgain = 2 * time.Second  // until a kubelet does so after the API server was unavailable
)

// renew brings renewedAt up to date, before anything changes of which it depends.
func (n *node) renew() {
	since := n.kubeletSince
	for _, back := range []time.Time{n.healedAt.Add(renewAgain), n.w.apiDownUntil.Add(renewAgain)} {
		if back.After(since) {
			since = back
		}
	}
	if !n.on || n.kubelet == "" || n.partitioned || !n.w.apiUp() || n.w.now().Before(since) {
		return
	}
	n.renewedAt = since.Add(n.w.now().Sub(since).Truncate(renewEvery))
}

// showRenewal writes the Lease of a node's kubelet. No program watches it.
func (w *world) showRenewal(k key) {
	n := w.node(k.Name)
	if n == nil || k.Resource != "leases" {
		return
	}
	n.renew()
	w.api.objects[k] = &stored{tree: tree{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": tree{"namespace": k.Namespace, "name": k.Name},
		"spec": tree{"holderIdentity": n.name, "leaseDurationSeconds": 40, "renewTime": n.renewedAt.Add(n.clockError()).UTC().Format(metav1.RFC3339Micro)},
	}}
}

// kubeletDies ends the kubelet, and nothing else. Its Node stays Ready for most of a minute.
func (n *node) kubeletDies() {
	if !n.on || n.shutting || n.kubelet == "" {
		return
	}
	n.w.note("the kubelet of %s dies", n.name)
	n.renew()
	n.kubelet, n.ready, n.changedAt, n.diedAt = "", false, n.w.now(), n.w.now()
	n.w.watchLost(n)
}

// restartKubelet starts the kubelet again if it died, or could not start.
func (n *node) restartKubelet() {
	if n.on && !n.shutting && n.kubelet == "" && !n.diedAt.IsZero() {
		n.startKubelet()
	}
}

// watchLost makes a Node NotReady whose kubelet has not renewed its Lease for lostAfter, as the node
// controller does. That begins to count again after the API server was unavailable.
func (w *world) watchLost(n *node) {
	n.renew()
	w.lostIn(n, lostAfter-w.now().Sub(n.renewedAt))
}

func (w *world) lostIn(n *node, d time.Duration) {
	w.after(max(time.Second, d), "lost "+n.name, func() {
		n.renew()
		switch heard := n.on && n.kubelet != "" && !n.partitioned; {
		case heard || n.removed:
		case !w.apiUp():
			w.lostIn(n, lostAfter)
		case w.now().Sub(n.renewedAt) < lostAfter: // the kubelet has worked meanwhile
			w.watchLost(n)
		default:
			w.setNode(n, false)
			w.setPods(n, false)
		}
	})
}

// pods writes the mirror pods of the static pods, as the kubelet does.
func (w *world) pods(n *node) {
	if !n.controlPlane || n.removed || !n.on || n.kubelet == "" {
		return
	}
	if n.partitioned || !w.apiUp() {
		w.after(3*time.Second, "pods "+n.name, func() { w.pods(n) })
		return
	}
	w.setPods(n, n.podsUp)
}

func (w *world) setPods(n *node, ready bool) {
	if !n.controlPlane {
		return
	}
	for _, component := range append([]string{"etcd"}, host.ControlPlaneComponents...) {
		version := n.staticPods
		if component == "etcd" {
			version = "3.6.5-0"
		}
		k := key{"pods", "kube-system", component + "-" + n.name}
		pod := tree{
			"apiVersion": "v1", "kind": "Pod",
			"metadata": tree{
				"labels":      tree{"component": component, "tier": "control-plane"},
				"annotations": tree{"kubernetes.io/config.mirror": "x"},
			},
			"spec":   tree{"nodeName": n.name, "containers": []any{tree{"name": component, "image": "registry.k8s.io/" + component + ":" + version}}},
			"status": tree{"phase": "Running", "conditions": []any{tree{"type": "Ready", "status": map[bool]string{true: "True", false: "False"}[ready]}}},
		}
		if w.api.objects[k] == nil {
			w.api.put("kubelet "+n.name, k, pod)
			continue
		}
		w.edit(k, func(t tree) { t["spec"], t["status"] = pod["spec"], pod["status"] })
	}
}

// schedule starts pods on a node that takes some.
func (w *world) schedule(n *node) {
	object := w.api.objects[key{Resource: "nodes", Name: n.name}]
	if object == nil || !n.ready || child(clone(object.tree).(tree), "spec")["unschedulable"] == true {
		return
	}
	for i := range w.script.Pods {
		k := key{"pods", "default", fmt.Sprintf("web-%s-%d", n.name, i)}
		if w.api.objects[k] != nil {
			continue
		}
		w.api.put("scheduler", k, tree{
			"apiVersion": "v1", "kind": "Pod",
			"metadata": tree{"ownerReferences": []any{tree{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web", "controller": true}}},
			"spec":     tree{"nodeName": n.name, "containers": []any{tree{"name": "web", "image": "web:1"}}},
			"status":   tree{"phase": "Running"},
		})
	}
}

// endPod ends a deleted pod, as its kubelet does.
func (w *world) endPod(k key, name string) {
	w.after(time.Duration(2000+w.noise(6000))*time.Millisecond, "end pod", func() {
		n := w.node(name)
		switch {
		case n == nil:
			w.api.remove("garbage collector", k)
		case !n.on || n.kubelet == "" || n.partitioned || !w.apiUp():
			w.endPod(k, name)
		default:
			w.api.remove("kubelet "+name, k)
		}
	})
}

// collect deletes what a deleted Node owned.
func (w *world) collect(uid string) {
	w.after(time.Duration(1000+w.noise(20000))*time.Millisecond, "garbage collector", func() {
		for k, s := range w.api.objects {
			if k.Resource != "nodeupgrades" && k.Resource != "nodeinventories" {
				continue
			}
			_, owners := entries(metadata(s.tree)["ownerReferences"], "uid")
			if owners[uid] != nil {
				w.api.remove("garbage collector", k)
			}
		}
	})
}
