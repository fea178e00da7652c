package request

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestGitOwner(t *testing.T) {
	by := func(manager, subresource string) []metav1.ManagedFieldsEntry {
		return []metav1.ManagedFieldsEntry{{Manager: "kubectl"}, {Manager: manager, Subresource: subresource}}
	}
	for want, o := range map[string]metav1.ObjectMeta{
		"Flux Kustomization flux-system/apps": {Labels: map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}},
		"Flux HelmRelease ops/upgrade":        {Labels: map[string]string{"helm.toolkit.fluxcd.io/name": "upgrade", "helm.toolkit.fluxcd.io/namespace": "ops"}},
		"Argo CD application tracked":         {Annotations: map[string]string{"argocd.argoproj.io/tracking-id": "tracked:kubectl-upgrade.dev/MaintenanceSchedule:/freeze"}},
		"Argo CD application labelled":        {Labels: map[string]string{"argocd.argoproj.io/instance": "labelled"}},
		"Argo CD application default":         {Labels: map[string]string{"app.kubernetes.io/instance": "default"}, ManagedFields: by("argocd-controller", "")},
		"Helm release ops/upgrades": {Labels: map[string]string{"app.kubernetes.io/managed-by": "Helm"}, Annotations: map[string]string{
			"meta.helm.sh/release-name": "upgrades", "meta.helm.sh/release-namespace": "ops"}},
		"Flux HelmRelease ops/chart":  {Labels: map[string]string{"app.kubernetes.io/managed-by": "Helm", "helm.toolkit.fluxcd.io/name": "chart", "helm.toolkit.fluxcd.io/namespace": "ops"}},
		"Flux (kustomize-controller)": {ManagedFields: by("kustomize-controller", "")},
		"Argo CD (argocd-controller)": {ManagedFields: by("argocd-controller", "")},
		"":                            {Labels: map[string]string{"app.kubernetes.io/instance": "chart"}, ManagedFields: by("kustomize-controller", "status")},
	} {
		if got := GitOwner(&o); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
