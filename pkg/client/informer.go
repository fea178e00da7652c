package client

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
)

// Informer returns an informer for all objects of the kind or, if name is not empty,
// for the object of that name only, so that an agent watches nothing but its own
// object.
func (r Resource[T, L]) Informer(name string) cache.SharedIndexInformer {
	return kube.Informer(r.ClientWithList, r.empty(), func(options *metav1.ListOptions) {
		if name != "" {
			options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		}
	})
}
