package preflight

import (
	"cmp"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

var webhookChecks = []Entry{
	{
		"webhook-last-backend", blocks,
		"an admission webhook with failurePolicy Fail would lose its last ready backend with a node, and the API server would refuse what it is asked about; that node is held",
		"Run a second replica of its backend on another node, or set the webhook's failurePolicy to Ignore.",
	},
	{
		"webhook-no-backend", warns,
		"an admission webhook with failurePolicy Fail has no ready backend: the API server refuses what it is asked about, perhaps the very pods that have to move",
		"Look at why its backend is not Ready; if it is not used any more, delete the webhook's configuration.",
	},
}

// Webhook is an admission webhook without which the API server refuses what it
// is asked about, and that runs in the cluster.
type Webhook struct {
	Kind          string // ValidatingWebhookConfiguration or MutatingWebhookConfiguration
	Configuration string // its name
	Name          string // the webhook's in it
	Namespace     string // its Service's
	Service       string
}

// String is the webhook for people.
func (w Webhook) String() string {
	return fmt.Sprintf("%s (Service %s/%s)", w.Name, w.Namespace, w.Service)
}

// LastBackends are the webhooks that would lose their last ready backend with a
// node, by node and in order. The planner asks it again before each release.
func LastBackends(validating []admissionregistrationv1.ValidatingWebhookConfiguration, mutating []admissionregistrationv1.MutatingWebhookConfiguration, slices []discoveryv1.EndpointSlice) map[string][]Webhook {
	backends := readyBackends(slices)
	last := map[string][]Webhook{}
	for _, w := range required(validating, mutating) {
		if b := backends[w.service()]; b.ready && !b.spread && b.node != "" {
			last[b.node] = append(last[b.node], w)
		}
	}
	return last
}

// service is the key of the webhook's Service.
func (w Webhook) service() string { return w.Namespace + "/" + w.Service }

// required are the webhooks with failurePolicy Fail, which is also what is
// meant where nothing is said, whose backend is a Service. They are sorted.
func required(validating []admissionregistrationv1.ValidatingWebhookConfiguration, mutating []admissionregistrationv1.MutatingWebhookConfiguration) []Webhook {
	var list []Webhook
	note := func(kind, configuration, name string, policy *admissionregistrationv1.FailurePolicyType, client admissionregistrationv1.WebhookClientConfig) {
		if (policy == nil || *policy == admissionregistrationv1.Fail) && client.Service != nil {
			list = append(list, Webhook{kind, configuration, name, client.Service.Namespace, client.Service.Name})
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

// backend is where the ready endpoints of a Service are.
type backend struct {
	ready, spread bool
	node          string // empty: outside the cluster
}

// readyBackends are those of every Service.
func readyBackends(list []discoveryv1.EndpointSlice) map[string]backend {
	backends := map[string]backend{}
	for i := range list {
		key := list[i].Namespace + "/" + list[i].Labels[discoveryv1.LabelServiceName]
		for _, endpoint := range list[i].Endpoints {
			// Not known counts as ready, says the API.
			if ready := endpoint.Conditions.Ready; ready != nil && !*ready {
				continue
			}
			node := ""
			if endpoint.NodeName != nil {
				node = *endpoint.NodeName
			}
			b, seen := backends[key]
			backends[key] = backend{ready: true, node: node, spread: b.spread || seen && b.node != node}
		}
	}
	return backends
}

func (c *checker) checkWebhooks() {
	last := LastBackends(c.Workloads.Validating, c.Workloads.Mutating, c.Workloads.EndpointSlices)
	for _, n := range c.nodes {
		if !n.drains {
			continue
		}
		for _, w := range last[n.name] {
			c.add(v1alpha1.Finding{
				ID: "webhook-last-backend", Node: n.name, Object: w.Kind + "/" + w.Configuration,
				Message: fmt.Sprintf("Webhook %s has its last ready backend on node %s, and requests fail without it.", w, n.name),
			})
		}
	}
	backends := readyBackends(c.Workloads.EndpointSlices)
	var without []string
	for _, w := range required(c.Workloads.Validating, c.Workloads.Mutating) {
		if !backends[w.service()].ready {
			without = append(without, w.String())
		}
	}
	if len(without) > 0 {
		c.add(v1alpha1.Finding{ID: "webhook-no-backend", Message: fmt.Sprintf("No ready backend for %s that the API server must ask: %s.", plural(len(without), "webhook"), names(without))})
	}
}
