package snapshot

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules/rebootmanager"
)

// named returns an object's name and labels alone.
func named(o metav1.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(), Labels: o.GetLabels()}
}

func trimNode(n *corev1.Node) corev1.Node {
	n.ManagedFields = nil
	n.Status.Images, n.Status.VolumesAttached, n.Status.VolumesInUse = nil, nil, nil
	return *n
}

// trimDaemonSet keeps the images and the arguments of the containers, and whether its pods
// reach the host.
func trimDaemonSet(d *appsv1.DaemonSet) appsv1.DaemonSet {
	var kept []corev1.Container
	for _, c := range d.Spec.Template.Spec.Containers {
		one := corev1.Container{Name: c.Name, Image: c.Image, Command: c.Command, Args: c.Args}
		for _, variable := range c.Env {
			if rebootmanager.IsVariable(variable.Name) {
				one.Env = append(one.Env, variable)
			}
		}
		kept = append(kept, one)
	}
	pod := corev1.PodSpec{Containers: kept, HostPID: d.Spec.Template.Spec.HostPID}
	for _, v := range d.Spec.Template.Spec.Volumes {
		if v.HostPath != nil {
			pod.Volumes = append(pod.Volumes, v)
		}
	}
	d.ManagedFields = nil
	d.Spec = appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{Spec: pod}}
	return *d
}

// trimAgent keeps whether the pod of an agent is Ready, and why not.
func trimAgent(p *corev1.Pod) corev1.Pod {
	kept := corev1.Pod{ObjectMeta: named(p), Spec: corev1.PodSpec{NodeName: p.Spec.NodeName}}
	kept.CreationTimestamp, kept.ResourceVersion = p.CreationTimestamp, p.ResourceVersion
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			kept.Status.Conditions = append(kept.Status.Conditions, corev1.PodCondition{Type: c.Type, Status: c.Status, LastTransitionTime: c.LastTransitionTime})
		}
	}
	for _, c := range p.Status.ContainerStatuses {
		one := corev1.ContainerStatus{Name: c.Name, State: corev1.ContainerState{Waiting: c.State.Waiting, Terminated: trimTerminated(c.State.Terminated)}}
		one.LastTerminationState.Terminated = trimTerminated(c.LastTerminationState.Terminated)
		kept.Status.ContainerStatuses = append(kept.Status.ContainerStatuses, one)
	}
	return kept
}

// trimTerminated keeps why a container has ended.
func trimTerminated(t *corev1.ContainerStateTerminated) *corev1.ContainerStateTerminated {
	if t == nil {
		return nil
	}
	return &corev1.ContainerStateTerminated{ExitCode: t.ExitCode, Reason: t.Reason, Message: lastWords(t.Message)}
}

// trimRecord keeps how long each node took, and drops its steps.
func trimRecord(r *v1alpha1.UpgradeRecord) v1alpha1.UpgradeRecord {
	r.ManagedFields = nil
	for i := range r.Spec.Nodes {
		r.Spec.Nodes[i].Steps = nil
	}
	return *r
}

// trimSlice keeps which nodes have ready endpoints of which Service.
func trimSlice(s *discoveryv1.EndpointSlice) discoveryv1.EndpointSlice {
	kept := discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.Namespace, Name: s.Name, ResourceVersion: s.ResourceVersion,
		Labels: map[string]string{discoveryv1.LabelServiceName: s.Labels[discoveryv1.LabelServiceName]},
	}}
	for _, e := range s.Endpoints {
		if ready := e.Conditions.Ready; ready == nil || *ready {
			kept.Endpoints = append(kept.Endpoints, discoveryv1.Endpoint{NodeName: e.NodeName})
		}
	}
	return kept
}

// trimValidating keeps the failure policies and Services. Most of a configuration is
// certificates.
func trimValidating(c *admissionregistrationv1.ValidatingWebhookConfiguration) admissionregistrationv1.ValidatingWebhookConfiguration {
	kept := admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: c.Name, ResourceVersion: c.ResourceVersion}}
	for _, w := range c.Webhooks {
		kept.Webhooks = append(kept.Webhooks, admissionregistrationv1.ValidatingWebhook{
			Name: w.Name, FailurePolicy: w.FailurePolicy, ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: w.ClientConfig.Service},
		})
	}
	return kept
}

// trimMutating does the same as trimValidating.
func trimMutating(c *admissionregistrationv1.MutatingWebhookConfiguration) admissionregistrationv1.MutatingWebhookConfiguration {
	kept := admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: c.Name, ResourceVersion: c.ResourceVersion}}
	for _, w := range c.Webhooks {
		kept.Webhooks = append(kept.Webhooks, admissionregistrationv1.MutatingWebhook{
			Name: w.Name, FailurePolicy: w.FailurePolicy, ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: w.ClientConfig.Service},
		})
	}
	return kept
}
