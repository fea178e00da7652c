package kubetest

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// MakeKubeadmObjects makes what kubeadm leaves in a cluster, unless it is there: its ConfigMaps, with the rights
// that it gives to kubelets, and the objects of its addons.
func MakeKubeadmObjects(ctx context.Context, client kubernetes.Interface) error {
	const namespace, rights = clusterstate.KubeadmNamespace, "kubeadm:nodes-kubeadm-config"
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
	config := &corev1.ConfigMap{ObjectMeta: named(clusterstate.KubeadmConfigMapName), Data: map[string]string{
		clusterstate.KubeadmConfigMapKey: "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n",
	}}
	kubelets := &corev1.ConfigMap{ObjectMeta: named(clusterstate.KubeletConfigMapName), Data: map[string]string{
		clusterstate.KubeletConfigMapKey: "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n",
	}}
	corefile := &corev1.ConfigMap{ObjectMeta: named(clusterstate.CoreDNSName), Data: map[string]string{clusterstate.CoreDNSConfigKey: ".:53 {\n    errors\n    reload\n}\n"}}
	role := &rbacv1.Role{ObjectMeta: named(rights), Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{config.Name}, Verbs: []string{"get"}},
	}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: named(rights), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: rights},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:nodes"}},
	}
	pods := func(name string) (*metav1.LabelSelector, corev1.PodTemplateSpec) {
		labels := map[string]string{"k8s-app": name}
		return &metav1.LabelSelector{MatchLabels: labels}, corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: name, Image: "registry.k8s.io/" + name}}},
		}
	}
	proxy, dns := &appsv1.DaemonSet{ObjectMeta: named(clusterstate.KubeProxyName)}, &appsv1.Deployment{ObjectMeta: named(clusterstate.CoreDNSName)}
	proxy.Spec.Selector, proxy.Spec.Template = pods(proxy.Name)
	dns.Spec.Selector, dns.Spec.Template = pods(clusterstate.CoreDNSLabelValue)
	dns.Labels = dns.Spec.Selector.MatchLabels
	dns.Spec.Template.Spec.Containers[0].Image = "registry.k8s.io/coredns/coredns:v1.11.3" // each kubeadm since 1.32 migrates from it
	dns.Spec.Replicas = ptr.To[int32](2)
	configMaps, options := client.CoreV1().ConfigMaps(namespace), metav1.CreateOptions{}
	for _, create := range []func() error{
		func() error { _, err := configMaps.Create(ctx, config, options); return err },
		func() error { _, err := configMaps.Create(ctx, kubelets, options); return err },
		func() error { _, err := configMaps.Create(ctx, corefile, options); return err },
		func() error { _, err := client.RbacV1().Roles(namespace).Create(ctx, role, options); return err },
		func() error {
			_, err := client.RbacV1().RoleBindings(namespace).Create(ctx, binding, options)
			return err
		},
		func() error { _, err := client.AppsV1().DaemonSets(namespace).Create(ctx, proxy, options); return err },
		func() error { _, err := client.AppsV1().Deployments(namespace).Create(ctx, dns, options); return err },
	} {
		if err := create(); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}
