package sim

import (
	"bytes"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// list answers with the objects that the selectors of the request select.
func (t *transport) list(r *http.Request, k key) (int, []byte) {
	query := r.URL.Query()
	byLabel, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		return statusOf(apierrors.NewBadRequest(err.Error()))
	}
	byField, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		return statusOf(apierrors.NewBadRequest(err.Error()))
	}
	found := t.api.list(k.Resource, k.Namespace, func(one tree) bool {
		set := labels.Set{}
		if all, ok := metadata(one)["labels"].(tree); ok {
			for name, value := range all {
				set[name], _ = value.(string)
			}
		}
		return byLabel.Matches(set) && byField.Matches(fieldsOf(one))
	})
	encode := func() []byte { return t.encodeList(k.Resource, found) }
	if t.answers != nil && newObject(k.Resource) != nil {
		return http.StatusOK, t.answers.put(answered{resource: k.Resource, items: found, version: fmt.Sprint(t.api.version), bytes: encode})
	}
	return http.StatusOK, encode()
}

func (t *transport) encodeList(resource string, found []*stored) []byte {
	var out bytes.Buffer
	listed := listOf[resource]
	fmt.Fprintf(&out, `{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"%d"},"items":[`, listed.kind, listed.group, t.api.version)
	for i, one := range found {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(one.bytes())
	}
	out.WriteString("]}")
	return out.Bytes()
}

// listOf has the kind of the lists of each resource, and its group and version.
var listOf = map[string]struct{ kind, group string }{
	"nodes": {"NodeList", "v1"}, "pods": {"PodList", "v1"}, "leases": {"LeaseList", "coordination.k8s.io/v1"},
	"nodeupgrades":         {"NodeUpgradeList", v1alpha1.GroupVersion.String()},
	"nodeinventories":      {"NodeInventoryList", v1alpha1.GroupVersion.String()},
	"clusterupgrades":      {"ClusterUpgradeList", v1alpha1.GroupVersion.String()},
	"upgradepolicies":      {"UpgradePolicyList", v1alpha1.GroupVersion.String()},
	"maintenanceschedules": {"MaintenanceScheduleList", v1alpha1.GroupVersion.String()},
	"upgraderecords":       {"UpgradeRecordList", v1alpha1.GroupVersion.String()},
	"coordinatorstates":    {"CoordinatorStateList", v1alpha1.GroupVersion.String()},
	"jobs":                 {"JobList", "batch/v1"}, "cronjobs": {"CronJobList", "batch/v1"},
	"daemonsets": {"DaemonSetList", "apps/v1"}, "deployments": {"DeploymentList", "apps/v1"},
	"poddisruptionbudgets":            {"PodDisruptionBudgetList", "policy/v1"},
	"validatingwebhookconfigurations": {"ValidatingWebhookConfigurationList", "admissionregistration.k8s.io/v1"},
	"mutatingwebhookconfigurations":   {"MutatingWebhookConfigurationList", "admissionregistration.k8s.io/v1"},
}

func fieldsOf(one tree) fields.Set {
	set := fields.Set{"metadata.name": text(metadata(one), "name"), "status.phase": "Running"}
	if spec, ok := one["spec"].(tree); ok {
		set["spec.nodeName"] = text(spec, "nodeName")
	}
	return set
}
