package preflight

import (
	"cmp"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// LastBackend is the id of the check that a node does not have the last ready
// backend of a webhook. The planner makes it again before each release.
const LastBackend = "webhook-last-backend"

var webhookChecks = []Entry{
	{
		LastBackend, blocks,
		"an admission webhook with failurePolicy Fail would lose its last ready backend with a node, which therefore waits",
		"Run a second replica of its backend on another node, or set failurePolicy to Ignore.",
	},
	{
		"webhook-no-backend", warns,
		"an admission webhook with failurePolicy Fail has no ready backend: the API server refuses what it reviews, perhaps pods that have to move",
		"Find out why its backend is not Ready, or delete the webhook's configuration if nobody needs it.",
	},
}

// Webhooks returns the webhooks whose failurePolicy is Fail, which is the default,
// and whose backend is a Service, sorted. Of those with the same Service it returns
// the first.
func Webhooks(validating []admissionregistrationv1.ValidatingWebhookConfiguration,
	mutating []admissionregistrationv1.MutatingWebhookConfiguration, backends []discoveryv1.EndpointSlice) []clusterstate.Webhook {
	list := required(validating, mutating)
	nodes := readyNodes(backends)
	seen := map[string]bool{}
	list = slices.DeleteFunc(list, func(w clusterstate.Webhook) bool {
		twice := seen[serviceOf(w)]
		seen[serviceOf(w)] = true
		return twice
	})
	for i := range list {
		list[i].Nodes = nodes[serviceOf(list[i])]
	}
	return list
}

// service returns the namespace and name of the webhook's Service.
func serviceOf(w clusterstate.Webhook) string { return w.Namespace + "/" + w.Service }

// lastOn reports whether the webhook has backends on that node and nowhere else.
func lastOn(w clusterstate.Webhook, node string) bool { return len(w.Nodes) == 1 && w.Nodes[0] == node }

func required(validating []admissionregistrationv1.ValidatingWebhookConfiguration, mutating []admissionregistrationv1.MutatingWebhookConfiguration) []clusterstate.Webhook {
	var list []clusterstate.Webhook
	note := func(kind, configuration, name string, policy *admissionregistrationv1.FailurePolicyType, client admissionregistrationv1.WebhookClientConfig) {
		if (policy == nil || *policy == admissionregistrationv1.Fail) && client.Service != nil {
			list = append(list, clusterstate.Webhook{Kind: kind, Configuration: configuration, Name: name, Namespace: client.Service.Namespace, Service: client.Service.Name})
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
	slices.SortFunc(list, func(a, b clusterstate.Webhook) int {
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
			if !lastOn(w, n.name) {
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
