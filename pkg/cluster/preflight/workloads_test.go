package preflight_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
)

// web is a Deployment of two replicas on two workers, its first pod changed.
// tolerant has the pod tolerate everything.
func tolerant(p *corev1.Pod) {
	p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
}

func web(change func(*corev1.Pod)) func(*preflight.Facts) {
	return func(f *preflight.Facts) {
		deployment(f, "web", "worker-1", "worker-2")
		first := pod("web", "web-1", "worker-1")
		change(first)
		f.Workloads.Pods[0] = preflight.NewPod(first)
	}
}

func ownedBy(kind, name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: name, Controller: ptr.To(true)}}
	}
}

// budget is a PodDisruptionBudget over the pods of a Deployment.
func budget(name, app string, allowed int32) policyv1.PodDisruptionBudget {
	return policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed, ExpectedPods: 2, CurrentHealthy: 1, DesiredHealthy: 2},
	}
}

// rule sets what a drain does with the pods of the Deployment web.
func rule(f *preflight.Facts, behavior v1alpha1.DrainBehavior) {
	f.Upgrade.Spec.Strategy.Drain.Rules = []v1alpha1.DrainRule{{
		Name: "web", Behavior: behavior,
		PodSelector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "web"}},
	}}
}

func workloadScenes() []scene {
	guarded := func(b policyv1.PodDisruptionBudget, nodes ...string) func(*preflight.Facts) {
		return func(f *preflight.Facts) {
			deployment(f, "web", nodes...)
			f.Workloads.Budgets = append(f.Workloads.Budgets, b)
		}
	}
	both := func(a, b policyv1.PodDisruptionBudget) func(*preflight.Facts) {
		return func(f *preflight.Facts) {
			guarded(a, "worker-1", "worker-2")(f)
			f.Workloads.Budgets = append(f.Workloads.Budgets, b)
		}
	}
	notReady := func(healthy int32, policy *policyv1.UnhealthyPodEvictionPolicyType) func(*preflight.Facts) {
		return func(f *preflight.Facts) {
			b := budget("web", "web", 0)
			b.Spec.UnhealthyPodEvictionPolicy, b.Status.CurrentHealthy = policy, healthy
			guarded(b, "worker-1", "worker-2")(f)
			for i := range f.Workloads.Pods {
				f.Workloads.Pods[i].Ready = false
			}
		}
	}
	blocked := []string{"Warn pdb-blocks PodDisruptionBudget/shop/web"}
	all := func(changes ...func(*corev1.Pod)) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			for _, change := range changes {
				change(p)
			}
		}
	}
	emptyDir := func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	}
	careless := func(p *corev1.Pod) {
		p.Spec.Containers[0].LivenessProbe, p.Spec.Containers[0].ReadinessProbe = nil, nil
		p.Spec.Containers[0].Resources = corev1.ResourceRequirements{}
	}
	bare := func(p *corev1.Pod) { p.OwnerReferences = nil }
	in := func(namespace string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Namespace = namespace } }
	grace := func(d time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = ptr.To(int64(d.Seconds())) }
	}
	everything := web(all(bare, emptyDir, careless, grace(time.Hour)))
	return []scene{
		{check: "pdb-blocks", name: "allows nothing", alter: guarded(budget("web", "web", 0), "worker-1", "worker-2"),
			want: []string{"Warn pdb-blocks PodDisruptionBudget/shop/web"}},
		{check: "pdb-blocks", name: "allows one", alter: guarded(budget("web", "web", 1), "worker-1", "worker-2")},
		{check: "pdb-blocks", name: "allows nothing while the upgrade itself drains a node", alter: func(f *preflight.Facts) {
			b := budget("web", "web", 0)
			b.Status.DesiredHealthy = 1
			guarded(b, "worker-1", "worker-2")(f)
			f.NodeUpgrades[3].Status.Step = v1alpha1.StepDraining
		}},
		{check: "pdb-blocks", name: "allows nothing with all pods healthy, while a node is drained", alter: func(f *preflight.Facts) {
			guarded(budget("web", "web", 0), "worker-1", "worker-2")(f)
			f.NodeUpgrades[3].Status.Step = v1alpha1.StepDraining
		}, want: []string{"Warn pdb-blocks PodDisruptionBudget/shop/web"}},
		{check: "pdb-blocks", name: "protects others", alter: guarded(budget("web", "db", 0), "worker-1", "worker-2")},
		{check: "pdb-blocks", name: "its nodes are done", alter: func(f *preflight.Facts) {
			guarded(budget("web", "web", 0), "worker-1", "worker-2")(f)
			runs(f, "v1.35.4")
		}},
		{check: "pdb-blocks", name: "no node is drained, as kubelets are only restarted", alter: func(f *preflight.Facts) {
			guarded(budget("web", "web", 0), "worker-1", "worker-2")(f)
			runs(f, "v1.35.3")
			f.Upgrade.Spec.Strategy.Method = v1alpha1.MethodRestart
		}},
		{check: "pdb-blocks", name: "one is rebooted instead of restarted", alter: func(f *preflight.Facts) {
			guarded(budget("web", "web", 0), "worker-1", "worker-2")(f)
			runs(f, "v1.35.3")
			f.Upgrade.Spec.Strategy.Method = v1alpha1.MethodRestart
			upgrade(f, "worker-2").Status.Upgrade, upgrade(f, "worker-2").Status.Method = ptr.To(f.Upgrade.Reference()), v1alpha1.MethodReboot
		}, want: []string{"Warn pdb-blocks PodDisruptionBudget/shop/web"}},
		{check: "pdb-blocks", name: "one was rebooted by the upgrade before", alter: func(f *preflight.Facts) {
			guarded(budget("web", "web", 0), "worker-1", "worker-2")(f)
			runs(f, "v1.35.3")
			f.Upgrade.Spec.Strategy.Method = v1alpha1.MethodRestart
			upgrade(f, "worker-2").Status.Upgrade, upgrade(f, "worker-2").Status.Method = &v1alpha1.UpgradeReference{Name: f.Upgrade.Name, UID: "8"}, v1alpha1.MethodReboot
		}},
		{check: "pdb-blocks", name: "one is a minor behind, and is rebooted instead", alter: func(f *preflight.Facts) {
			guarded(budget("web", "web", 0), "worker-1", "worker-2")(f)
			runs(f, "v1.35.3")
			f.Upgrade.Spec.Strategy.Method = v1alpha1.MethodRestart
			node(f, "worker-2").Status.NodeInfo.KubeletVersion = "v1.34.9"
		}, want: []string{"Warn pdb-blocks PodDisruptionBudget/shop/web"}},
		{check: "pdb-blocks", name: "another node made the upgrade a minor", alter: func(f *preflight.Facts) {
			guarded(budget("web", "web", 0), "worker-1", "worker-2")(f)
			runs(f, "v1.35.3")
			f.Upgrade.Status.Type = v1alpha1.TypeMinor
			f.Upgrade.Spec.Strategy.Method = v1alpha1.MethodRestart
		}},
		{check: "pdb-blocks", name: "Restart is for patches", alter: func(f *preflight.Facts) {
			guarded(budget("web", "web", 0), "worker-1", "worker-2")(f)
			f.Upgrade.Status.Type = v1alpha1.TypeMinor
			f.Upgrade.Spec.Strategy.Method = v1alpha1.MethodRestart
		}, want: []string{"Warn pdb-blocks PodDisruptionBudget/shop/web"}},
		{check: "pdb-blocks", name: "a restart of one is known to be impossible", alter: func(f *preflight.Facts) {
			guarded(budget("web", "web", 0), "worker-1", "worker-2")(f)
			runs(f, "v1.35.3")
			f.Upgrade.Spec.Strategy.Method = v1alpha1.MethodRestart
			facts(f, "worker-2").RefreshBlockers = []string{"/usr/share/oem"}
		}, want: []string{"Warn pdb-blocks PodDisruptionBudget/shop/web"}},
		{check: "pdb-blocks", name: "very many", alter: func(f *preflight.Facts) {
			deployment(f, "web", "worker-1", "worker-2")
			for i := range 40 {
				f.Workloads.Budgets = append(f.Workloads.Budgets, budget(fmt.Sprintf("web-%02d", i), "web", 0))
			}
		}, want: append(append([]string{"Warn pdb-blocks"}, many("Warn pdb-blocks PodDisruptionBudget/shop/web-%02d", 16)...), "Warn pdb-overlap PodDisruptionBudget/shop/web-00")},
		{check: "pdb-blocks", name: "expects no pods, and matches some", alter: func(f *preflight.Facts) {
			b := budget("web", "web", 0)
			b.Status = policyv1.PodDisruptionBudgetStatus{}
			guarded(b, "worker-1", "worker-2")(f)
		}, want: blocked},
		{check: "pdb-blocks", name: "its pods are not Ready", alter: notReady(1, nil), want: blocked},
		{check: "pdb-blocks", name: "its pods are not Ready, and may go", alter: notReady(1, ptr.To(policyv1.AlwaysAllow))},
		{check: "pdb-blocks", name: "its pods are not Ready, and enough others are", alter: notReady(2, ptr.To(policyv1.IfHealthyBudget))},
		{check: "pdb-blocks", name: "its pods are Ready, and those that are not may go", alter: func(f *preflight.Facts) {
			notReady(1, ptr.To(policyv1.AlwaysAllow))(f)
			f.Workloads.Pods[0].Ready = true
		}, want: blocked},
		{check: "pdb-blocks", name: "its pods are Pending", alter: func(f *preflight.Facts) {
			notReady(1, nil)(f)
			for i := range f.Workloads.Pods {
				f.Workloads.Pods[i].Pending = true
			}
		}},
		{check: "pdb-overlap", name: "two that allow one", alter: both(budget("web", "web", 1), budget("shop", "web", 1)),
			want: []string{"Warn pdb-overlap PodDisruptionBudget/shop/shop"}},
		{check: "pdb-overlap", name: "over other pods", alter: both(budget("web", "web", 1), budget("db", "db", 1))},
		{check: "pdb-overlap", name: "in another namespace", alter: func(f *preflight.Facts) {
			both(budget("web", "web", 1), budget("shop", "web", 1))(f)
			f.Workloads.Budgets[1].Namespace = "other"
		}},
		{check: "pdb-overlap", name: "pods that are Pending", alter: func(f *preflight.Facts) {
			both(budget("web", "web", 1), budget("shop", "web", 1))(f)
			for i := range f.Workloads.Pods {
				f.Workloads.Pods[i].Pending = true
			}
		}},
		{check: "single-replica", name: "one replica", alter: func(f *preflight.Facts) { deployment(f, "web", "worker-1") },
			want: []string{"Warn single-replica"}},
		{check: "single-replica", name: "two", alter: func(f *preflight.Facts) { deployment(f, "web", "worker-1", "worker-2") }},
		{check: "single-replica", name: "of Kubernetes itself", alter: func(f *preflight.Facts) {
			deployment(f, "web", "worker-1")
			f.Workloads.Deployments[0].Namespace, f.Workloads.Pods[0].Namespace = "kube-system", "kube-system"
		}},
		{check: "one-node", name: "two replicas", alter: func(f *preflight.Facts) { deployment(f, "web", "worker-1", "worker-1") },
			want: []string{"Warn one-node"}},
		{check: "one-node", name: "on two", alter: func(f *preflight.Facts) { deployment(f, "web", "worker-1", "worker-2", "worker-2") }},
		{check: "one-node", name: "a StatefulSet", alter: func(f *preflight.Facts) {
			deployment(f, "web", "worker-1", "worker-1")
			for i := range f.Workloads.Pods {
				f.Workloads.Pods[i].Kind, f.Workloads.Pods[i].Owner = "StatefulSet", "StatefulSet/shop/db"
			}
		}, want: []string{"Warn one-node"}},
		{check: "one-node", name: "there is only one", facts: cluster(1, 0), alter: func(f *preflight.Facts) { deployment(f, "web", "cp-1", "cp-1") },
			want: []string{"Warn etcd-single"}},
		{check: "bare-pod", name: "no controller", alter: web(bare), want: []string{"Warn bare-pod"}},
		{check: "bare-pod", name: "certificates are renewed, and no pod moves", alter: func(f *preflight.Facts) {
			renewed(f)
			web(bare)(f)
			ofType(f, v1alpha1.TypeCertificates)
			for i := range f.Workloads.Pods {
				f.Workloads.Pods[i].Node = "cp-1"
			}
		}},
		{check: "bare-pod", name: "over already", alter: web(all(bare, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }))},
		{check: "bare-pod", name: "a static pod", alter: web(all(bare, func(p *corev1.Pod) {
			p.Annotations = map[string]string{"kubernetes.io/config.mirror": "x"}
		}))},
		{check: "not-drained", name: "tolerates a cordoned node", alter: web(all(bare, func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "node.kubernetes.io/unschedulable", Operator: corev1.TolerationOpExists}}
		})), want: []string{"Warn not-drained"}},
		{check: "not-drained", name: "of a Deployment, tolerates everything", alter: web(tolerant), want: []string{"Warn not-drained"}},
		{check: "not-drained", name: "of a DaemonSet", alter: web(all(tolerant, ownedBy("DaemonSet", "log")))},
		{check: "not-drained", name: "of Kubernetes itself", alter: web(all(tolerant, in("kube-system")))},
		{check: "bare-pod", name: "of Kubernetes itself", alter: web(all(bare, careless, emptyDir, in("kube-system"))), want: []string{"Warn bare-pod"}},
		{check: "empty-dir", name: "data", alter: web(emptyDir), want: []string{"Warn empty-dir"}},
		{check: "empty-dir", name: "of a DaemonSet", alter: web(all(emptyDir, careless, ownedBy("DaemonSet", "log")))},
		{check: "empty-dir", name: "blocks a drain", alter: func(f *preflight.Facts) {
			web(all(emptyDir, careless))(f)
			f.Upgrade.Spec.Strategy.Drain.EmptyDirPods = v1alpha1.PodsBlock
		}, want: []string{"Block empty-dir Node/worker-1 @worker-1", "Warn no-liveness-probe", "Warn no-readiness-probe", "Warn no-requests"}},
		{check: "empty-dir", name: "blocks the drain of Kubernetes' own pods and of those without a controller", alter: func(f *preflight.Facts) {
			web(all(emptyDir, bare, in("kube-system")))(f)
			f.Policy.Strategy.Drain.EmptyDirPods = v1alpha1.PodsBlock
		}, want: []string{"Block empty-dir Node/worker-1 @worker-1", "Warn bare-pod"}},
		{check: "empty-dir", name: "blocks the drain of a control-plane node, and so everything", facts: cluster(3, 1), alter: func(f *preflight.Facts) {
			deployment(f, "web", "cp-1", "worker-1")
			f.Workloads.Pods[0].EmptyDir = true
			f.Policy.Strategy.Drain.EmptyDirPods = v1alpha1.PodsBlock
		}, want: []string{"Block empty-dir Node/cp-1"}},
		{check: "empty-dir", name: "blocks in one group only", alter: func(f *preflight.Facts) {
			web(emptyDir)(f)
			f.Workloads.Pods[1].EmptyDir = true
			node(f, "worker-2").Labels["pool"] = "gpu"
			f.Policy.Strategy.Groups = []v1alpha1.NodeGroup{{
				Name: "gpu", NodeSelector: pool("gpu"), Pace: v1alpha1.Pace{Drain: v1alpha1.Drain{EmptyDirPods: v1alpha1.PodsBlock}},
			}}
		}, want: []string{"Block empty-dir Node/worker-2 @worker-2", "Warn empty-dir"}},
		{check: "empty-dir", name: "the upgrade's own strategy counts before the policy's", alter: func(f *preflight.Facts) {
			web(emptyDir)(f)
			f.Upgrade.Spec.Strategy.Drain.EmptyDirPods = v1alpha1.PodsEvict
			f.Policy.Strategy.Drain.EmptyDirPods = v1alpha1.PodsBlock
		}, want: []string{"Warn empty-dir"}},
		{check: "empty-dir", name: "a rule leaves the pod on the node", alter: func(f *preflight.Facts) {
			everything(f)
			rule(f, v1alpha1.DrainSkip)
		}},
		{check: "bare-pod", name: "a rule waits until it ends", alter: func(f *preflight.Facts) {
			everything(f)
			rule(f, v1alpha1.DrainWaitCompleted)
		}},
		{check: "bare-pod", name: "a rule drains it like any other", alter: func(f *preflight.Facts) {
			web(bare)(f)
			rule(f, v1alpha1.DrainPod)
		}, want: []string{"Warn bare-pod"}},
		{check: "pdb-blocks", name: "a rule leaves its pods on the node", alter: func(f *preflight.Facts) {
			guarded(budget("web", "web", 0), "worker-1", "worker-2")(f)
			rule(f, v1alpha1.DrainSkip)
		}},
		{check: "no-liveness-probe", name: "none", alter: web(func(p *corev1.Pod) { p.Spec.Containers[0].LivenessProbe = nil }), want: []string{"Warn no-liveness-probe"}},
		{check: "no-liveness-probe", name: "a side-car without", alter: web(func(p *corev1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "log", Resources: p.Spec.Containers[0].Resources})
		})},
		{check: "no-readiness-probe", name: "none", alter: web(func(p *corev1.Pod) { p.Spec.Containers[0].ReadinessProbe = nil }), want: []string{"Warn no-readiness-probe"}},
		{check: "no-readiness-probe", name: "of a Job", alter: web(all(careless, ownedBy("Job", "once")))},
		{check: "no-requests", name: "a container without", alter: web(func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests = nil }), want: []string{"Warn no-requests"}},
		{check: "no-requests", name: "for the pod as a whole", alter: web(func(p *corev1.Pod) {
			p.Spec.Resources = &p.Spec.Containers[0].Resources
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "log"})
		})},
		{check: "long-grace", name: "longer than a drain may take", alter: web(grace(15*time.Minute + time.Second)), want: []string{"Warn long-grace"}},
		{check: "long-grace", name: "as long as that", alter: web(grace(15 * time.Minute))},
		{check: "long-grace", name: "longer than this upgrade's", alter: func(f *preflight.Facts) {
			web(grace(time.Minute))(f)
			f.Upgrade.Spec.Strategy.Drain.TimeoutSeconds = ptr.To[int32](45)
		}, want: []string{"Warn long-grace"}},
		{check: "long-grace", name: "cut short", alter: func(f *preflight.Facts) {
			web(grace(time.Hour))(f)
			f.Upgrade.Spec.Strategy.Drain.GracePeriodSeconds = ptr.To(int32(30))
		}},
		{check: "long-grace", name: "nothing at all is said of a node that is done", alter: func(f *preflight.Facts) {
			everything(f)
			runs(f, "v1.35.4")
		}},
	}
}

func many(format string, n int) []string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(format, i))
	}
	return list
}
