package api_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/client-go/discovery"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

func TestKubectlExplainsEachKind(t *testing.T) {
	config := apitest.Start(t)
	apitest.InstallCRDs(t, config)
	for path, want := range map[string][]string{
		"maintenanceschedule.spec":                                    {"IANA name of the zone", "maintenanceExclusions", "nothing may begin"},
		"maintenanceschedule.spec.maintenanceWindows":                 {"-required-", "RFC 5545 RRULE such as FREQ=WEEKLY"},
		"maintenanceschedule.spec.maintenanceExclusions.upgradeTypes": {"types of upgrade that are excluded"},
		"upgradepolicy":                                    {"There is one, named cluster", "what runs as root on every node"},
		"upgradepolicy.spec.automatic":                     {"enum: Patch, Minor, Reboot", "must have seen each image of a"},
		"upgradepolicy.spec.source":                        {"SHA256SUMS", "gpg --export --armor"},
		"clusterupgrade.spec.strategy.drain":               {"enum: Abort, Delete", "killed immediately", "A strategy's default: 900"},
		"clusterupgrade.spec.strategy.drain.rules":         {"enum: Drain, Skip, WaitCompleted", "-required-"},
		"clusterupgrade.spec.strategy.maxUnavailable":      {"percentage of the nodes that the upgrade concerns", "Default: 1"},
		"clusterupgrade.spec.strategy.groups.nodeSelector": {"matchExpressions", "an object must meet"},
		"clusterupgrade.spec.approved":                     {"approved groups of the strategy"},
		"nodeupgrade":                                      {"one node's order and progress", "abandoned"},
		"nodeupgrade.status.step":                          {"A newer agent may have others"},
		"nodeupgrade.status.steps":                         {"when it began", "startTime"},
		"upgraderecord.spec.nodes":                         {"in upgrade order"},
		"nodeinventory":                                    {"when something in it changes", "failCgroupV1"},
	} {
		out, err := apitest.Kubectl(t, config, "explain", path).CombinedOutput()
		if err != nil {
			t.Errorf("kubectl explain %s: %v\n%s", path, err, out)
		}
		for _, words := range want {
			if !strings.Contains(squeeze(string(out)), words) {
				t.Errorf("kubectl explain %s does not say %q:\n%s", path, words, out)
			}
		}
	}
}

// squeeze undoes the line breaks that kubectl explain makes.
func squeeze(text string) string { return strings.Join(strings.Fields(text), " ") }

// property is the part of a schema that people read.
type property struct {
	Description          string              `json:"description"`
	Properties           map[string]property `json:"properties"`
	Items                *property           `json:"items"`
	AdditionalProperties *property           `json:"additionalProperties"`
}

func TestEachFieldIsDescribed(t *testing.T) {
	for kind, resource := range resources {
		text, err := os.ReadFile(filepath.Join(apitest.Root(t), "manifests", "crd", resource.Group+"_"+resource.Resource+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var crd struct {
			Spec struct {
				Versions []struct {
					Schema struct {
						OpenAPIV3Schema property `json:"openAPIV3Schema"`
					} `json:"schema"`
				} `json:"versions"`
			} `json:"spec"`
		}
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		described(t, kind, crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
	}
}

// taken are the descriptions of other projects' types, which have their own style.
var taken = regexp.MustCompile(`^\w+\.(metadata|apiVersion|kind)$|\.conditions\[\]`)

// described walks a schema. A description is sentences, without markers.
func described(t *testing.T, path string, p property) {
	sentences := regexp.MustCompile(`(?s)^[A-Z].*\.$`).MatchString(p.Description)
	if !taken.MatchString(path) && !strings.HasSuffix(path, "]") && (!sentences || strings.Contains(p.Description, "+kube") || strings.Contains(p.Description, "\n\n\n")) {
		t.Errorf("%s is not described in sentences: %q", path, p.Description)
	}
	for name, child := range p.Properties {
		described(t, path+"."+name, child)
	}
	if p.Items != nil {
		described(t, path+"[]", *p.Items)
	}
	if p.AdditionalProperties != nil {
		described(t, path+"[key]", *p.AdditionalProperties)
	}
}

// TestShortNamesAreOurs checks that no other kind has one of our short names.
func TestShortNamesAreOurs(t *testing.T) {
	kinds := map[string]string{ // those of Cluster API, api/core/v1beta2 and its extensions, v1.11
		"cl": "Cluster", "cc": "ClusterClass", "ma": "Machine", "ms": "MachineSet", "md": "MachineDeployment", "mp": "MachinePool",
		"mhc": "MachineHealthCheck", "mdr": "MachineDrainRule", "crs": "ClusterResourceSet", "ext": "ExtensionConfig", "kcp": "KubeadmControlPlane",
	}
	config := apitest.Start(t)
	apitest.InstallCRDs(t, config)
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	ours := 0
	for _, list := range lists {
		for _, resource := range list.APIResources {
			for _, short := range resource.ShortNames {
				if other, there := kinds[short]; there && other != resource.Kind {
					t.Errorf("%s is %s and %s", short, resource.Kind, other)
				}
				kinds[short] = resource.Kind
			}
			if _, is := resources[resource.Kind]; is && len(resource.ShortNames) == 1 {
				ours++
			}
		}
	}
	if ours != len(resources) {
		t.Errorf("%d of our %d kinds have a short name", ours, len(resources))
	}
}

// TestCategoryListsEachKind checks that `kubectl get kubeupgrade` lists all our kinds.
func TestCategoryListsEachKind(t *testing.T) {
	client := server(t)
	for kind, text := range map[string]string{
		"MaintenanceSchedule": "spec: {}", "UpgradePolicy": "metadata: {name: cluster}", "ClusterUpgrade": "spec: {type: Reboot}",
		"NodeUpgrade": "{}", "UpgradeRecord": record(""), "NodeInventory": `gatheredTime: "2026-11-22T01:00:00Z"`,
		"CoordinatorState": "metadata: {name: cluster}",
	} {
		u := object(t, kind, text)
		create(t, client, u)
		defer remove(t, client, u)
	}
	out, err := apitest.Kubectl(t, apitest.Start(t), "get", "kubeupgrade", "-o", "name").CombinedOutput()
	for _, resource := range resources {
		singular := strings.TrimSuffix(strings.Replace(resource.Resource, "ies", "ys", 1), "s")
		if !strings.Contains(string(out), singular+"."+resource.Group+"/") {
			t.Errorf("kubectl get kubeupgrade does not list %s: %v\n%s", resource.Resource, err, out)
		}
	}
}

// TestFieldSelectors selects objects by their fields.
func TestFieldSelectors(t *testing.T) {
	client := server(t)
	for name, text := range map[string]string{"patched": "spec: {version: v1.34.4}", "other": "spec: {version: v1.34.5}"} {
		u := object(t, "ClusterUpgrade", named(name, text))
		create(t, client, u)
		defer remove(t, client, u)
	}
	node := object(t, "NodeUpgrade", named("selected", "{}"))
	create(t, client, node)
	defer remove(t, client, node)
	for selector, want := range map[string]string{
		"clusterupgrades spec.version=v1.34.4": "clusterupgrade.kubectl-upgrade.dev/patched\n", "clusterupgrades status.outcome=Failed": "",
		"nodeupgrades status.step=Draining": "", "nodeupgrades spec.version!=v1.34.4": "nodeupgrade.kubectl-upgrade.dev/selected\n",
		"upgraderecords spec.outcome=Failed,spec.version=v1.34.4": "",
	} {
		kind, fields, _ := strings.Cut(selector, " ")
		out, err := apitest.Kubectl(t, apitest.Start(t), "get", kind, "-o", "name", "--field-selector", fields).Output()
		if err != nil || string(out) != want {
			t.Errorf("%s: got %q, %v, want %q", selector, out, err, want)
		}
	}
}
