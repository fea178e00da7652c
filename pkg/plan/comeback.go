package plan

import (
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// pass lets happen what is due.
func (f *forecast) pass() {
	if f.staged != nil && !f.now.Before(*f.staged) {
		f.staged = nil
		for _, n := range f.nodes {
			if n.Ready && !n.cannotStage() && n.status.Step != "" {
				n.runs.staged, n.runs.pulled = f.to, f.to
			}
		}
	}
	f.working = slices.DeleteFunc(f.working, func(w work) bool {
		due := !w.end.After(f.now)
		if due {
			f.finish(w)
		}
		return due
	})
	f.forgetDone()
}

// finish brings a node back into service.
func (f *forecast) finish(w work) {
	n := w.node
	n.phase, n.Node.Slot, n.Ready = v1alpha1.PhaseInService, "", true
	spec := *n.spec
	spec.Release = v1alpha1.ReleaseNone
	n.spec = &spec
	if n.slot != nil {
		n.slot.ReservedFor, n.slot.Holder = fleet.Owner{}, fleet.Owner{}
		n.slot = nil
	}
	f.setReady(n)
	switch {
	case w.givesUp:
	case w.components:
		n.runs.kubeadm, n.runs.controlPlane = f.to, f.to
		f.saved = f.saved || n == f.saver
		f.setServer(n)
	case n.reboot:
		n.due = false
		f.spans[n.Name] = w.span
	default:
		n.runs.kubelet = f.to
		f.spans[n.Name] = w.span
	}
}

// setReady lets n's etcd member come back.
func (f *forecast) setReady(n *node) {
	for i := range f.Etcd {
		if n.ControlPlane && f.Etcd[i].Node == n.Name {
			f.Etcd[i].Ready = true
		}
	}
}

// setServer lets n's apiserver run the new version.
func (f *forecast) setServer(n *node) {
	server := fleet.StaticPod{Node: n.Name, Version: f.to.String(), Ready: true}
	i := slices.IndexFunc(f.APIServers, func(pod fleet.StaticPod) bool { return pod.Node == n.Name })
	if i < 0 {
		f.APIServers = append(f.APIServers, server)
		return
	}
	f.APIServers[i] = server
}

// forgetDone leaves out nodes about which nothing is left to decide. Control
// planes stay: others are decided by how they are.
func (f *forecast) forgetDone() {
	f.nodes = slices.DeleteFunc(f.nodes, func(n *node) bool {
		done := !n.ControlPlane && n.Ready && n.phase == v1alpha1.PhaseInService && n.slot == nil && n.Node.Slot == "" && n.asWanted(f.to)
		return done || !n.counts() && !n.ControlPlane
	})
}
