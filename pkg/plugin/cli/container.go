package cli

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/migrate"
)

// containerReader reads the command lines of containers, with the ConfigMaps that their
// variables come from. It reads no Secret.
type containerReader struct {
	core corev1client.CoreV1Interface // nil: offline
}

// read returns a container of a pod.
func (r containerReader) read(ctx context.Context, namespace string, pod corev1.PodSpec, c corev1.Container) migrate.Container {
	read := migrate.Container{Image: c.Image, Command: c.Command, Args: c.Args, HostPaths: map[string]string{}}
	for _, from := range c.EnvFrom {
		variables, unread := r.all(ctx, namespace, from)
		read.Variables = append(read.Variables, variables...)
		if unread != "" {
			read.Unread = append(read.Unread, unread)
		}
	}
	for _, v := range c.Env {
		read.Variables = append(read.Variables, r.one(ctx, namespace, v))
	}
	for _, mount := range c.VolumeMounts {
		for _, volume := range pod.Volumes {
			if volume.Name == mount.Name && volume.HostPath != nil {
				read.HostPaths[mount.MountPath] = volume.HostPath.Path
			}
		}
	}
	return read
}

// one returns a variable.
func (r containerReader) one(ctx context.Context, namespace string, v corev1.EnvVar) migrate.Variable {
	read := migrate.Variable{Name: v.Name, Value: v.Value}
	from := v.ValueFrom
	switch {
	case from == nil:
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		data, err := r.configMap(ctx, namespace, ref.Name)
		value, there := data[ref.Key]
		if read.Value = value; err != nil || !there {
			read.Unread = fmt.Sprintf("from key %s of ConfigMap %s/%s", ref.Key, namespace, ref.Name)
		}
	case from.SecretKeyRef != nil:
		read.Unread = fmt.Sprintf("from Secret %s/%s", namespace, from.SecretKeyRef.Name)
	case from.FieldRef != nil:
		read.Unread = "from the pod's " + from.FieldRef.FieldPath
	default:
		read.Unread = "from elsewhere"
	}
	return read
}

// all returns the variables of a ConfigMap, or what could not be read. Those of a Secret are not
// known, not even their names.
func (r containerReader) all(ctx context.Context, namespace string, from corev1.EnvFromSource) (variables []migrate.Variable, unread string) {
	switch {
	case from.SecretRef != nil:
		return nil, fmt.Sprintf("Secret %s/%s", namespace, from.SecretRef.Name)
	case from.ConfigMapRef == nil:
		return nil, ""
	}
	name, optional := from.ConfigMapRef.Name, from.ConfigMapRef.Optional
	data, err := r.configMap(ctx, namespace, name)
	if err != nil && (!apierrors.IsNotFound(err) || optional == nil || !*optional) {
		return nil, fmt.Sprintf("ConfigMap %s/%s", namespace, name)
	}
	for key, value := range data {
		variables = append(variables, migrate.Variable{Name: from.Prefix + key, Value: value})
	}
	return variables, ""
}

func (r containerReader) configMap(ctx context.Context, namespace, name string) (map[string]string, error) {
	if r.core == nil {
		return nil, fmt.Errorf("ConfigMap %s/%s is on the cluster", namespace, name)
	}
	read, err := r.core.ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return read.Data, nil
}

// placement returns on which nodes the pods run.
func placement(pod corev1.PodSpec) migrate.Placement {
	p := migrate.Placement{NodeSelector: pod.NodeSelector}
	if a := pod.Affinity; a != nil {
		p.Affinity = a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil
	}
	for _, t := range pod.Tolerations {
		all := t.Key == "" && t.Operator == corev1.TolerationOpExists
		if all || t.Key == controlPlaneTaint {
			p.ControlPlane = true
		}
	}
	return p
}

// controlPlaneTaint is on the Nodes of the control plane, with kubeadm.
const controlPlaneTaint = "node-role.kubernetes.io/control-plane"
