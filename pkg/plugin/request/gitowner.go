package request

import (
	"cmp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GitOwner returns the name of what keeps the object as it is in Git, or in a chart, and
// would undo a change made here. Empty: nothing does. The marks are those of
// https://fluxcd.io/flux/components/kustomize/kustomizations/#controlling-the-apply-behavior-of-resources,
// https://fluxcd.io/flux/components/helm/helmreleases/,
// https://argo-cd.readthedocs.io/en/stable/user-guide/resource_tracking/ and
// https://helm.sh/docs/chart_best_practices/labels/.
func GitOwner(o metav1.Object) string {
	labels, annotations := o.GetLabels(), o.GetAnnotations()
	argo, _, _ := strings.Cut(annotations["argocd.argoproj.io/tracking-id"], ":")
	argo = cmp.Or(argo, labels["argocd.argoproj.io/instance"])
	switch {
	case labels["kustomize.toolkit.fluxcd.io/name"] != "":
		return "Flux Kustomization " + labels["kustomize.toolkit.fluxcd.io/namespace"] + "/" + labels["kustomize.toolkit.fluxcd.io/name"]
	case labels["helm.toolkit.fluxcd.io/name"] != "":
		return "Flux HelmRelease " + labels["helm.toolkit.fluxcd.io/namespace"] + "/" + labels["helm.toolkit.fluxcd.io/name"]
	case argo != "":
		return "Argo CD application " + argo
	}
	manager := gitManager(o.GetManagedFields())
	// Argo CD's default mark is a label that others use as well: it counts
	// where Argo CD wrote the object.
	if instance := labels["app.kubernetes.io/instance"]; instance != "" && strings.HasPrefix(manager, "Argo CD") {
		return "Argo CD application " + instance
	}
	if release := annotations["meta.helm.sh/release-name"]; release != "" && manager == "" {
		return "Helm release " + annotations["meta.helm.sh/release-namespace"] + "/" + release
	}
	return manager
}

// gitManagers are the names under which controllers that follow Git write.
var gitManagers = map[string]string{
	"kustomize-controller":          "Flux (kustomize-controller)",
	"helm-controller":               "Flux (helm-controller)",
	"argocd-controller":             "Argo CD (argocd-controller)",
	"argocd-application-controller": "Argo CD (argocd-application-controller)",
}

func gitManager(entries []metav1.ManagedFieldsEntry) string {
	for _, entry := range entries {
		if owner := gitManagers[entry.Manager]; owner != "" && entry.Subresource == "" {
			return owner
		}
	}
	return ""
}
