package preflight

import (
	"cmp"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// LastBackend is the id of the check that a node does not have the last ready
// backend of a webhook. The planner makes it again before each release.
const LastBackend = "webhook-last-backend"

var webhookChecks = []Entry{
	{
		LastBackend, blocks,
		"an admission webhook with failurePolicy Fail would lose its last ready backend with a node, and the API server would refuse the requests that it reviews; that node waits",
		"Run a second replica of its backend on another node, or set the webhook's failurePolicy to Ignore.",
	},
	{
		"webhook-no-backend", warns,
		"an admission webhook with failurePolicy Fail has no ready backend: the API server refuses the requests that it reviews, perhaps those for the pods that have to move",
		"Find out why its backend is not Ready; if the webhook is not used any more, delete its configuration.",
	},
}

// Webhook is an admission webhook that runs in the cluster. Without it, the API server
// refuses the requests that the webhook reviews.
type Webhook struct {
	Kind          string `json:"kind"`          // ValidatingWebhookConfiguration or MutatingWebhookConfiguration
	Configuration string `json:"configuration"` // its name
	Name          string `json:"name"`          // the webhook's in it
	Namespace     string `json:"namespace"`     // its Service's
	Service       string `json:"service"`
	// Nodes that have a ready backend of it, each once, sorted. An empty name is
	// a backend that runs on no node of this cluster.
	Nodes []string `json:"nodes,omitempty"`
}

// String returns the webhook's name, and its Service's, for people.
func (w Webhook) String() string {
	return fmt.Sprintf("%s (Service %s/%s)", w.Name, w.Namespace, w.Service)
}

// Webhooks returns the webhooks whose failurePolicy is Fail, which is the default,
// and whose backend is a Service, sorted. Of those with the same Service it returns
// the first.
func Webhooks(validating []admissionregistrationv1.ValidatingWebhookConfiguration, mutating []admissionregistrationv1.MutatingWebhookConfiguration, backends []discoveryv1.EndpointSlice) []Webhook {
	list := required(validating, mutating)
	nodes := readyNodes(backends)
	seen := map[string]bool{}
	list = slices.DeleteFunc(list, func(w Webhook) bool {
		twice := seen[w.service()]
		seen[w.service()] = true
		return twice
	})
	for i := range list {
		list[i].Nodes = nodes[list[i].service()]
	}
	return list
}

// service returns the namespace and name of the webhook's Service.
func (w Webhook) service() string { return w.Namespace + "/" + w.Service }

// lastOn reports whether the webhook has backends on that node and nowhere else.
func (w Webhook) lastOn(node string) bool { return len(w.Nodes) == 1 && w.Nodes[0] == node }

func required(validating []admissionregistrationv1.ValidatingWebhookConfiguration, mutating []admissionregistrationv1.MutatingWebhookConfiguration) []Webhook {
	var list []Webhook
	note := func(kind, configuration, name string, policy *admissionregistrationv1.FailurePolicyType, client admissionregistrationv1.WebhookClientConfig) {
		if (policy == nil || *policy == admissionregistrationv1.Fail) && client.Service != nil {
			list = append(list, Webhook{Kind: kind, Configuration: configuration, Name: name, Namespace: client.Service.Namespace, Service: client.Service.Name})
		}
	}
	for _, c := range validating {
		for _, w := range c.Webhooks {
			note("ValidatingWebhookConfiguration", c.Name, w.Name, w.FailurePolicy, w.ClientConfig)
		}
	}
	for _, c := range mutating {
		for _, w := range c.Webhooks {
			note("MutatingWebhookConfiguration", c.Name, w.Name, w.FailurePolicy, w.ClientConfig)
		}
	}
	slices.SortFunc(list, func(a, b Webhook) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Configuration, b.Configuration), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// readyNodes returns the nodes with a ready endpoint, by Service.
func readyNodes(list []discoveryv1.EndpointSlice) map[string][]string {
	nodes := map[string][]string{}
	for i := range list {
		key := list[i].Namespace + "/" + list[i].Labels[discoveryv1.LabelServiceName]
		for _, endpoint := range list[i].Endpoints {
			// By the API, a condition that is not known counts as ready.
			if ready := endpoint.Conditions.Ready; ready != nil && !*ready {
				continue
			}
			node := ""
			if endpoint.NodeName != nil {
				node = *endpoint.NodeName
			}
			nodes[key] = append(nodes[key], node)
		}
	}
	for key, names := range nodes {
		slices.Sort(names)
		nodes[key] = slices.Compact(names)
	}
	return nodes
}

func (c *checker) checkWebhooks() {
	webhooks := Webhooks(c.Workloads.Validating, c.Workloads.Mutating, c.Workloads.EndpointSlices)
	for _, n := range c.nodes {
		if !n.drains {
			continue
		}
		for _, w := range webhooks {
			if !w.lastOn(n.name) {
				continue
			}
			c.add(v1alpha1.Finding{
				ID: LastBackend, Node: n.name, Object: v1alpha1.ObjectReference{Kind: w.Kind, Name: w.Configuration},
				Message: fmt.Sprintf("Webhook %s has its last ready backend on node %s, and requests fail without it.", w, n.name),
			})
		}
	}
	var without []string
	for _, w := range webhooks {
		if len(w.Nodes) == 0 {
			without = append(without, w.String())
		}
	}
	if len(without) > 0 {
		c.add(v1alpha1.Finding{ID: "webhook-no-backend", Message: fmt.Sprintf("%s with failurePolicy Fail and no ready backend: %s.", plural(len(without), "webhook"), names(without))})
	}
}
