package preflight_test

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

var now = time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)

// cluster returns a cluster without findings for an upgrade from v1.34.4 to v1.35.4.
func cluster(controlPlanes, workers int) *preflight.Facts {
	f := &preflight.Facts{
		Now: now,
		Upgrade: v1alpha1.ClusterUpgrade{
			ObjectMeta: metav1.ObjectMeta{Name: "v1.35.4", UID: "9"},
			Spec:       v1alpha1.ClusterUpgradeSpec{Version: "v1.35.4"},
		},
		Offered:       []string{"amd64", "arm64"},
		KubeletConfig: &preflight.KubeletConfig{KubeletConfig: clusterstate.KubeletConfig{Fields: []string{"cgroupDriver"}}},
		KubeadmConfig: &preflight.KubeadmConfig{ClusterConfiguration: preflight.ClusterConfiguration{APIVersion: "kubeadm.k8s.io/v1beta4"}},
	}
	for i := range controlPlanes {
		name := fmt.Sprintf("cp-%d", i+1)
		f.Nodes = append(f.Nodes, machine(name, true))
		f.NodeUpgrades, f.Inventories = append(f.NodeUpgrades, reported(name)), append(f.Inventories, inventory(name))
		for _, component := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
			f.SystemPods = append(f.SystemPods, static(component, name))
		}
	}
	for i := range controlPlanes {
		var members []v1alpha1.EtcdMember
		for j := range controlPlanes {
			members = append(members, v1alpha1.EtcdMember{Name: fmt.Sprintf("cp-%d", j+1), Healthy: true, Version: "3.6.5"})
		}
		f.Inventories[i].Etcd = &v1alpha1.EtcdFacts{Members: members, DatabaseBytes: 100 << 20}
	}
	for i := range workers {
		name := fmt.Sprintf("worker-%d", i+1)
		f.Nodes = append(f.Nodes, machine(name, false))
		f.NodeUpgrades, f.Inventories = append(f.NodeUpgrades, reported(name)), append(f.Inventories, inventory(name))
	}
	return f
}

func machine(name string, controlPlane bool) corev1.Node {
	n := corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}, Annotations: map[string]string{}},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			NodeInfo: corev1.NodeSystemInfo{
				KubeletVersion: "v1.34.4", OperatingSystem: "linux", Architecture: "amd64", ContainerRuntimeVersion: "containerd://2.1.5",
			},
		},
	}
	if controlPlane {
		n.Labels["node-role.kubernetes.io/control-plane"] = ""
	}
	return n
}

// reported returns what the agent of a healthy node reports.
func reported(name string) v1alpha1.NodeUpgrade {
	return v1alpha1.NodeUpgrade{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     v1alpha1.NodeUpgradeStatus{Step: v1alpha1.StepWaiting, Versions: v1alpha1.NodeVersions{Kubelet: "v1.34.4"}},
	}
}

// inventory returns the facts that its agent gathered.
func inventory(name string) v1alpha1.NodeInventory {
	cert := func(path string, days int, ca bool) v1alpha1.CertificateFacts {
		return v1alpha1.CertificateFacts{Path: path, NotAfter: metav1.NewTime(now.AddDate(0, 0, days)), CA: ca}
	}
	return v1alpha1.NodeInventory{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		NodeFacts: v1alpha1.NodeFacts{
			GatheredTime:        metav1.NewTime(now.Add(-5 * time.Minute)),
			CgroupVersion:       2,
			KubeletFlags:        []string{"config", "node-ip"},
			KubeletConfigFields: []string{"cgroupDriver", "featureGates.KubeletEnsureSecretPulledImages"},
			Disks: []v1alpha1.DiskFacts{
				{Path: "/opt/extensions/kubernetes", FreeBytes: 5 << 30}, {Path: "/etc/kubernetes/tmp", FreeBytes: 5 << 30},
				{Path: preflight.SnapshotsDir, FreeBytes: 5 << 30}, {Path: "/var/lib/containerd", FreeBytes: 20 << 30},
			},
			Certificates: []v1alpha1.CertificateFacts{
				cert("/etc/kubernetes/pki/apiserver.crt", 200, false), cert("/etc/kubernetes/pki/ca.crt", 3000, true),
			},
			Locksmithd: "masked",
		},
	}
}

func static(component, node string) corev1.Pod {
	tag := "v1.34.4"
	if component == "etcd" {
		tag = "3.6.5-0"
	}
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "kube-system", Name: component + "-" + node,
			Labels:      map[string]string{"component": component, "tier": "control-plane"},
			Annotations: map[string]string{"kubernetes.io/config.mirror": "x"},
		},
		Spec: corev1.PodSpec{
			NodeName:   node,
			Containers: []corev1.Container{{Name: component, Image: "registry.k8s.io/" + component + ":" + tag, Command: []string{component}}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

// pod returns a pod that has everything that checks require: a Deployment, probes and requests.
func pod(deployment, name, node string) *corev1.Pod {
	probe := &corev1.Probe{}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name,
			Labels:          map[string]string{"app": deployment, "pod-template-hash": "5d4f"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: deployment + "-5d4f", Controller: ptr.To(true)}},
		},
		Spec: corev1.PodSpec{
			NodeName: node, TerminationGracePeriodSeconds: ptr.To(int64(30)),
			Containers: []corev1.Container{{
				Name: "app", LivenessProbe: probe, ReadinessProbe: probe,
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: quantity("100m")}},
			}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

// deployment returns a Deployment of that many replicas, with pods on these nodes.
func deployment(f *preflight.Facts, name string, nodes ...string) {
	f.Workloads.Deployments = append(f.Workloads.Deployments, appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec:       appsv1.DeploymentSpec{Replicas: ptr.To(int32(len(nodes)))},
	})
	for i, node := range nodes {
		f.Workloads.Pods = append(f.Workloads.Pods, preflight.NewPod(pod(name, fmt.Sprintf("%s-%d", name, i+1), node)))
	}
}

func node(f *preflight.Facts, name string) *corev1.Node {
	return &f.Nodes[slices.IndexFunc(f.Nodes, func(n corev1.Node) bool { return n.Name == name })]
}

func upgrade(f *preflight.Facts, name string) *v1alpha1.NodeUpgrade {
	return &f.NodeUpgrades[slices.IndexFunc(f.NodeUpgrades, func(n v1alpha1.NodeUpgrade) bool { return n.Name == name })]
}

func facts(f *preflight.Facts, name string) *v1alpha1.NodeFacts {
	return &f.Inventories[slices.IndexFunc(f.Inventories, func(n v1alpha1.NodeInventory) bool { return n.Name == name })].NodeFacts
}

// agents makes agents run on these nodes only.
func agents(f *preflight.Facts, nodes ...string) {
	for _, name := range nodes {
		p := pod("agent", "node-agent-"+name, name)
		p.Namespace, p.Labels = v1alpha1.Namespace, map[string]string{"app.kubernetes.io/component": "node-agent"}
		p.OwnerReferences[0].Kind = "DaemonSet"
		f.Workloads.Pods = append(f.Workloads.Pods, preflight.NewPod(p))
	}
}

// rebooted makes a node one that has rebooted for an upgrade.
func rebooted(f *preflight.Facts, name string, by v1alpha1.UpgradeReference) {
	node(f, name).Status.NodeInfo.BootID = "after"
	s := &upgrade(f, name).Status
	s.Upgrade, s.Reboot.FromBootID = &by, "before"
}

// pool selects the nodes of a pool.
func pool(name v1alpha1.LabelValue) v1alpha1.LabelSelector {
	return v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"pool": name}}
}

// unseen removes the inventories of these nodes.
func unseen(f *preflight.Facts, names ...string) {
	f.Inventories = slices.DeleteFunc(f.Inventories, func(n v1alpha1.NodeInventory) bool { return slices.Contains(names, n.Name) })
}

func systemPod(f *preflight.Facts, name string) *corev1.Pod {
	return &f.SystemPods[slices.IndexFunc(f.SystemPods, func(p corev1.Pod) bool { return p.Name == name })]
}

// serve sets the version of a node's apiserver.
func serve(f *preflight.Facts, name, version string) {
	systemPod(f, "kube-apiserver-"+name).Spec.Containers[0].Image = "registry.k8s.io/kube-apiserver:" + version
}

// runs sets the version of every part of the cluster.
func runs(f *preflight.Facts, version string) {
	for i := range f.Nodes {
		f.Nodes[i].Status.NodeInfo.KubeletVersion = version
		if _, is := f.Nodes[i].Labels["node-role.kubernetes.io/control-plane"]; is {
			serve(f, f.Nodes[i].Name, version)
		}
	}
}

func unready(f *preflight.Facts, name string) {
	node(f, name).Status.Conditions[0].Status = corev1.ConditionUnknown
}

// etcd changes what every agent reports of a member.
func etcd(f *preflight.Facts, member string, change func(*v1alpha1.EtcdMember)) {
	for _, n := range f.Inventories {
		if n.Etcd == nil {
			continue
		}
		for i := range n.Etcd.Members {
			if m := &n.Etcd.Members[i]; m.Name == member || member == "*" {
				change(m)
			}
		}
	}
}

// lacksImage makes a node one whose Kubernetes does not come as a sysext image.
func lacksImage(f *preflight.Facts, name string) {
	upgrade(f, name).Status.ImageProblem = &v1alpha1.Problem{Reason: v1alpha1.NoSysextImage, Message: "Kubernetes comes from packages"}
}

// ends makes the upgrade a Reboot that ends a boot of the node, which is now in another one or still in it.
func ends(f *preflight.Facts, name, now string) {
	reboots(f)
	f.Upgrade.Spec.RebootPolicy = v1alpha1.RebootAlways
	f.Upgrade.Status.TriggerTime = &metav1.Time{Time: f.Now}
	f.Upgrade.Status.Boots = []v1alpha1.NodeBoot{{Name: name, BootID: "before"}}
	node(f, name).Status.NodeInfo.BootID = now
}

// reboots makes the upgrade one of type Reboot, for these nodes.
func reboots(f *preflight.Facts, names ...string) {
	f.Upgrade.Spec.Version, f.Upgrade.Spec.Type = "", v1alpha1.TypeReboot
	for _, name := range names {
		upgrade(f, name).Status.Reboot.Required = true
	}
}
