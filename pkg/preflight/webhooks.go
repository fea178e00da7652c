package preflight

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// WebhookBackend is the id of the check that no node takes the last ready
// backend of an admission webhook along. The planner asks it again for every
// node that it lets go.
const WebhookBackend = "webhook-backend"

// Webhook is an admission webhook without whose answer requests fail, and that a
// Service of this cluster answers for.
type Webhook struct {
	// Name of the webhook, and of the object that it stands in, as kind/name.
	Name          string `json:"name"`
	Configuration string `json:"configuration"`
	// Service that answers for it, as namespace/name.
	Service string `json:"service"`
	// Nodes that have a ready backend of it, each once, sorted. An empty name is
	// a backend that runs on no node of this cluster.
	Nodes []string `json:"nodes,omitempty"`
}

// Webhooks are the webhooks with failurePolicy Fail, one for each Service, in
// the order of the configurations; all may hold other Services' slices too.
func Webhooks(validating []admissionregistrationv1.ValidatingWebhookConfiguration, mutating []admissionregistrationv1.MutatingWebhookConfiguration, all []discoveryv1.EndpointSlice) []Webhook {
	found := &webhooks{nodes: readyNodes(all), seen: map[string]bool{}}
	for _, c := range validating {
		for _, w := range c.Webhooks {
			found.add("ValidatingWebhookConfiguration/"+c.Name, w.Name, w.FailurePolicy, w.ClientConfig.Service)
		}
	}
	for _, c := range mutating {
		for _, w := range c.Webhooks {
			found.add("MutatingWebhookConfiguration/"+c.Name, w.Name, w.FailurePolicy, w.ClientConfig.Service)
		}
	}
	return found.list
}

type webhooks struct {
	nodes map[string][]string // with a ready endpoint, by Service
	seen  map[string]bool
	list  []Webhook
}

// add notes a webhook, unless another one with the same Service is there.
func (f *webhooks) add(configuration, name string, policy *admissionregistrationv1.FailurePolicyType, service *admissionregistrationv1.ServiceReference) {
	fails := policy == nil || *policy == admissionregistrationv1.Fail
	if !fails || service == nil {
		return
	}
	key := service.Namespace + "/" + service.Name
	if f.seen[key] {
		return
	}
	f.seen[key] = true
	f.list = append(f.list, Webhook{Name: name, Configuration: configuration, Service: key, Nodes: f.nodes[key]})
}

// readyNodes are the nodes with a ready endpoint, by Service.
func readyNodes(all []discoveryv1.EndpointSlice) map[string][]string {
	nodes := map[string][]string{}
	for _, s := range all {
		service := s.Namespace + "/" + s.Labels[discoveryv1.LabelServiceName]
		for _, e := range s.Endpoints {
			// Nil is true: https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/#conditions
			if ready := e.Conditions.Ready; ready != nil && !*ready {
				continue
			}
			node := ""
			if e.NodeName != nil {
				node = *e.NodeName
			}
			nodes[service] = append(nodes[service], node)
		}
	}
	for service, names := range nodes {
		slices.Sort(names)
		nodes[service] = slices.Compact(names)
	}
	return nodes
}
