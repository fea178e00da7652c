package cli

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/doctor"
)

// readPrograms reads the coordinator, the agents and the policy.
func (e *examination) readPrograms() {
	e.facts.Policy, _ = e.reader.policy(e.ctx)
	component := func(name string) metav1.ListOptions {
		return metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=" + name}
	}
	if list, err := e.kube.AppsV1().Deployments(v1alpha1.Namespace).List(e.ctx, component("coordinator")); err == nil && len(list.Items) > 0 {
		d := list.Items[0]
		e.facts.Coordinator = &doctor.Workload{Name: d.Name, Image: imageOf(d.Spec.Template.Spec), Desired: d.Status.Replicas, Ready: d.Status.ReadyReplicas}
	}
	if list, err := e.kube.AppsV1().DaemonSets(v1alpha1.Namespace).List(e.ctx, component("node-agent")); err == nil && len(list.Items) > 0 {
		d := list.Items[0]
		e.facts.Agents = &doctor.Workload{Name: d.Name, Image: imageOf(d.Spec.Template.Spec), Desired: d.Status.DesiredNumberScheduled, Ready: d.Status.NumberReady}
	}
	programs, err := e.reader.programs(e.ctx)
	if err != nil {
		e.facts.Unread = append(e.facts.Unread, oneLine(err.Error()))
		return
	}
	e.facts.CoordinatorProblem = programs.CoordinatorProblem()
	e.facts.AgentProblems = map[string]string{}
	for _, n := range e.facts.Nodes {
		if problem := programs.AgentProblem(n); problem != "" {
			e.facts.AgentProblems[n.Name] = problem
		}
	}
}

func imageOf(pod corev1.PodSpec) string {
	if len(pod.Containers) == 0 {
		return ""
	}
	return pod.Containers[0].Image
}
