// Package kubetest lets tests use client-go's clientset, and its fake, where the product
// uses package kube.
package kubetest

import (
	"context"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
)

// Of returns the clients of client.
func Of(client kubernetes.Interface) kube.Interface { return clientset{client} }

type clientset struct{ kubernetes.Interface }

func (c clientset) Nodes() kube.Nodes               { return c.CoreV1().Nodes() }
func (c clientset) Pods(namespace string) kube.Pods { return c.CoreV1().Pods(namespace) }
func (c clientset) ConfigMaps(namespace string) kube.ConfigMaps {
	return c.CoreV1().ConfigMaps(namespace)
}
func (c clientset) DaemonSets(namespace string) kube.DaemonSets {
	return c.AppsV1().DaemonSets(namespace)
}
func (c clientset) Leases(namespace string) kube.Leases { return c.CoordinationV1().Leases(namespace) }
func (c clientset) PodDisruptionBudgets(namespace string) kube.Budgets {
	return c.PolicyV1().PodDisruptionBudgets(namespace)
}
func (c clientset) PersistentVolumeClaims(namespace string) kube.Claims {
	return c.CoreV1().PersistentVolumeClaims(namespace)
}
func (c clientset) VolumeAttachments() kube.VolumeAttachments {
	return c.StorageV1().VolumeAttachments()
}
func (c clientset) CSINodes() kube.CSINodes     { return c.StorageV1().CSINodes() }
func (c clientset) CSIDrivers() kube.CSIDrivers { return c.StorageV1().CSIDrivers() }
func (c clientset) Events() record.EventSink {
	return &typedcorev1.EventSinkImpl{Interface: c.CoreV1().Events("")}
}

func (c clientset) Evict(ctx context.Context, eviction *policyv1.Eviction) error {
	return c.PolicyV1().Evictions(eviction.Namespace).Evict(ctx, eviction)
}
