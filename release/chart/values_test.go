package main

import (
	"fmt"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestValues checks that each value reaches the objects.
func TestValues(t *testing.T) {
	const (
		coordinator = "Deployment kubectl-upgrade/coordinator"
		agent       = "DaemonSet kubectl-upgrade/node-agent"
		digest      = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	)
	c := load(t)
	pod := []string{"spec", "template", "spec"}
	for _, test := range []struct {
		values, object string
		path           []string
		want           string
	}{
		{"image: {repository: r.example.com/a, tag: v9}", agent, append(pod, "containers"), "r.example.com/a:v9"},
		{"image: {repository: r.example.com/a, tag: v9}", coordinator, append(pod, "containers"), "r.example.com/a:v9"},
		{"image: {digest: '" + digest + "'}", agent, append(pod, "containers"), "node-agent@" + digest},
		{"image: {pullPolicy: Always}", agent, append(pod, "containers"), "Always"},
		{"imagePullSecrets: [{name: registry}]", agent, append(pod, "imagePullSecrets"), "registry"},
		{"imagePullSecrets: [{name: registry}]", coordinator, append(pod, "imagePullSecrets"), "registry"},
		{"coordinator: {replicas: 3}", coordinator, []string{"spec", "replicas"}, "3"},
		{"coordinator: {resources: {limits: {memory: 2Gi}}}", coordinator, append(pod, "containers"), "2Gi"},
		{"coordinator: {nodeSelector: {pool: system}}", coordinator, append(pod, "nodeSelector"), "pool:system"},
		{"coordinator: {tolerations: [{key: own}]}", coordinator, append(pod, "tolerations"), "[map[key:own]]"},
		{"coordinator: {metricsPort: 9443}", coordinator, append(pod, "containers"), "--metrics-address=:9443"},
		{"coordinator: {metricsPort: 9443}", "Service kubectl-upgrade/coordinator", []string{"spec", "ports"}, "targetPort:9443"},
		{"{coordinator: {metricsPort: 9443}, networkPolicies: {enabled: true}}", "NetworkPolicy kubectl-upgrade/coordinator", []string{"spec", "ingress"}, "port:9443"},
		{"agent: {resources: {limits: {memory: 1Gi}}}", agent, append(pod, "containers"), "1Gi"},
		{"agent: {nodeSelector: {pool: a}}", agent, append(pod, "nodeSelector"), "pool:a"},
		{"agent: {tolerations: [{key: own}]}", agent, append(pod, "tolerations"), "[map[key:own]]"},
		{"networkPolicies: {enabled: true, egressPorts: [8443]}", "NetworkPolicy kubectl-upgrade/node-agent", []string{"spec", "egress"}, "[map[ports:[map[port:8443 protocol:TCP]]]"},
		{"secrets: [slack, prometheus]", "Role kubectl-upgrade/coordinator-secrets", []string{"rules"}, "[map[apiGroups:[] resourceNames:[slack prometheus] resources:[secrets] verbs:[get]]]"},
		{"secrets: [slack]", "RoleBinding kubectl-upgrade/coordinator-secrets", []string{"subjects"}, "[map[kind:ServiceAccount name:coordinator namespace:kubectl-upgrade]]"},
		{"upgradePolicy: {create: true}", coordinator, append(pod, "containers"), "--require-policy]"},
		{"upgradePolicy: {create: true, spec: {source: {url: 'https://mirror.example.com/'}}}", "UpgradePolicy /cluster", []string{"spec", "source", "url"}, "https://mirror.example.com/"},
		{"upgradePolicy: {create: true, spec: {strategy: {maxUnavailable: 2}}}", "UpgradePolicy /cluster", []string{"spec", "strategy", "maxUnavailable"}, "2"},
	} {
		text, err := render(t, c, "default", test.values)
		if err != nil {
			t.Errorf("%s: %v", test.values, err)
			continue
		}
		rendered := parse(t, text)[test.object]
		if rendered == nil {
			t.Errorf("%s: there is no %s", test.values, test.object)
			continue
		}
		field, _, err := unstructured.NestedFieldNoCopy(rendered.Object, test.path...)
		if got := fmt.Sprint(field); err != nil || !strings.Contains(got, test.want) {
			t.Errorf("%s: %s of %s is %s, want %s (%v)", test.values, strings.Join(test.path, "."), test.object, got, test.want, err)
		}
	}
}

// TestWrongValues checks that a mistake is refused in one line that names it.
func TestWrongValues(t *testing.T) {
	c := load(t)
	for values, want := range map[string]string{
		"imgae: {}":                                          "additional properties 'imgae' not allowed",
		"image: {tags: v1}":                                  "at '/image': additional properties 'tags' not allowed",
		"image: {digest: deadbeef}":                          "at '/image/digest': 'deadbeef' does not match pattern",
		"coordinator: {replicas: 0}":                         "at '/coordinator/replicas': minimum: got 0, want 1",
		"agent: {replicas: 2}":                               "at '/agent': additional properties 'replicas' not allowed",
		"agent: {tolerations: [{operator: Exist}]}":          "at '/agent/tolerations/0/operator': value must be one of",
		"agent: {resources: {limit: {}}}":                    "at '/agent/resources': additional properties 'limit' not allowed",
		"networkPolicies: true":                              "at '/networkPolicies': got boolean, want object",
		"secrets: [{name: slack}]":                           "at '/secrets/0': got object, want string",
		"upgradePolicy: {create: true, spec: {sources: {}}}": "at '/upgradePolicy/spec': additional properties 'sources' not allowed",
		"upgradePolicy: {create: true, spec: {strategy: {maxUnavailible: 2}}}": "at '/upgradePolicy/spec/strategy': additional properties 'maxUnavailible' not allowed",
	} {
		_, err := render(t, c, "default", values)
		if err == nil {
			t.Errorf("%s is accepted", values)
			continue
		}
		// Helm's own first two lines name the chart.
		lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
		if problems := lines[min(2, len(lines)):]; len(problems) != 1 || !strings.Contains(problems[0], want) {
			t.Errorf("%s: got\n%v\nwant one line with %q", values, err, want)
		}
	}
}

// TestCoordinatorStaysOnControlPlanes checks that no value puts the coordinator on workers without a word.
func TestCoordinatorStaysOnControlPlanes(t *testing.T) {
	c := load(t)
	for _, values := range []string{
		"coordinator: {nodeSelector: null}",
		"coordinator: {nodeSelector: {node-role.kubernetes.io/control-plane: null}}",
		"coordinator: {nodeSelector: {node-role.kubernetes.io/control-plane: null, pool: system}}",
	} {
		if _, err := render(t, c, "default", values); err == nil || !strings.Contains(err.Error(), "coordinator.nodeSelector has to keep node-role.kubernetes.io/control-plane") {
			t.Errorf("%s: got %v, want a refusal", values, err)
		}
	}
}

// TestIncompleteChart checks that the folder in the repository does not render an empty release.
func TestIncompleteChart(t *testing.T) {
	folder, err := loader.Load(root + "/manifests/chart")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := render(t, folder, "default", ""); err == nil || !strings.Contains(err.Error(), "make chart") {
		t.Errorf("got %v, want an error that names `make chart`", err)
	}
}
