package snapshot

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/slot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// serviceIndex finds EndpointSlices by the namespace/name of their Service.
const serviceIndex = "service"

var byService = cache.Indexers{serviceIndex: func(object any) ([]string, error) {
	s, ok := object.(*discoveryv1.EndpointSlice)
	if !ok {
		return nil, nil
	}
	return []string{serviceOf(s)}, nil
}}

func serviceOf(s *discoveryv1.EndpointSlice) string {
	return s.Namespace + "/" + s.Labels[discoveryv1.LabelServiceName]
}

// webhooks returns the webhooks that can block requests, and the nodes of their
// backends.
func (r *Reader) webhooks() []fleet.Webhook {
	validating := values(sorted[*admissionregistrationv1.ValidatingWebhookConfiguration](r.validating))
	mutating := values(sorted[*admissionregistrationv1.MutatingWebhookConfiguration](r.mutating))
	var slices []discoveryv1.EndpointSlice
	for _, w := range preflight.Webhooks(validating, mutating, nil) {
		found, err := r.backends.GetIndexer().ByIndex(serviceIndex, w.Namespace+"/"+w.Service)
		if err != nil {
			continue // the index is there: it was added with the informer
		}
		for _, object := range found {
			if s, ok := object.(*discoveryv1.EndpointSlice); ok {
				slices = append(slices, *s)
			}
		}
	}
	return preflight.Webhooks(validating, mutating, slices)
}

// counts reports whether a plan may depend on the object. Most EndpointSlices belong to no
// webhook, and the coordinator's own Lease is renewed all the time.
func (r *Reader) counts(object any) bool {
	if lease, ok := object.(*coordinationv1.Lease); ok {
		return slot.Is(lease)
	}
	s, ok := object.(*discoveryv1.EndpointSlice)
	if !ok {
		return true
	}
	for _, w := range r.webhooks() {
		if w.Namespace+"/"+w.Service == serviceOf(s) {
			return true
		}
	}
	return false
}
