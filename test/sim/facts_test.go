package sim

import (
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// facts are what the verb "facts" finds.
func (n *node) facts() verb.HostFacts {
	f := verb.HostFacts{
		BootID: n.bootID(), Active: n.active, Merged: n.merged, ControlPlane: n.controlPlane,
		Kubeadm: verb.KubeadmDone{Version: n.kubeadm}, RebootRequired: n.osReboot, Guarded: n.armed, HasFiles: n.hasFiles, Rollback: n.rollback,
	}
	f.SoftReboots = n.softs
	if n.joinedLater {
		f.Kubeadm = verb.KubeadmDone{}
	}
	if n.w.script.Soft[n.name] == softImpossible {
		f.Node.SoftRebootBlocker = &v1alpha1.Problem{Reason: v1alpha1.SystemdTooOld, Message: "systemd is too old"}
	}
	if n.installed[n.active] == "" {
		f.Active = verb.NoKubernetes // the symlink dangles
	}
	if n.packages {
		f.Unsupported, f.Active, f.Merged = &v1alpha1.Problem{Reason: v1alpha1.NoSysextImage, Message: "Kubernetes comes from packages"}, "", ""
	}
	if n.kubelet == "" && !n.packages {
		f.KubeletProblem = "the kubelet does not run"
	}
	if n.osReboot {
		f.RebootReason = "/run/reboot-required exists"
	}
	for version := range n.installed {
		if n.packages {
			break
		}
		f.Installed = append(f.Installed, version)
	}
	slices.Sort(f.Installed)
	if n.odd && !n.packages {
		f.Node.Rehearsals = n.oddRehearsals()
	}
	n.addCertificates(&f)
	f.Node.OwnAPIServer = n.controlPlane && n.w.script.ClusterAPIDecides
	if n.controlPlane {
		f.StaticPods = map[string]string{}
		for _, component := range host.ControlPlaneComponents {
			f.StaticPods[component] = n.staticPods
		}
	}
	return f
}

// etcd is what the verb "etcd" finds: this node's member first.
func (n *node) etcd() *v1alpha1.EtcdFacts {
	if !n.controlPlane {
		return nil
	}
	facts := &v1alpha1.EtcdFacts{}
	for _, other := range n.w.controlPlanes() {
		m := v1alpha1.EtcdMember{Name: other.name, Healthy: other.memberUp()}
		if !m.Healthy {
			m.Problem = "does not answer"
		}
		if other == n {
			facts.Members = append([]v1alpha1.EtcdMember{m}, facts.Members...)
		} else {
			facts.Members = append(facts.Members, m)
		}
	}
	return facts
}
