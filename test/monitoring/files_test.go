package monitoring

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/metrics"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

var update = flag.Bool("update", false, "write the generated files")

const (
	root      = "../../"
	manifests = root + "manifests/monitoring/"
	runbooks  = "https://github.com/kubectl-upgrade/kubectl-upgrade/blob/main/docs/runbooks.md#"
)

func rules(t *testing.T) Rules {
	t.Helper()
	r, err := ParseRules(read(t, manifests+"rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// compare compares a file with what it should be, or writes it with -update.
func compare(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(read(t, file)), want); diff != "" {
		t.Errorf("%s (-file +generated); go test ./test/monitoring -update writes it:\n%s", file, diff)
	}
}

func TestGeneratedFiles(t *testing.T) {
	rule, err := rules(t).PrometheusRule()
	if err != nil {
		t.Fatal(err)
	}
	compare(t, manifests+"prometheusrule.yaml", string(rule))
	dashboard, err := Dashboard()
	if err != nil {
		t.Fatal(err)
	}
	compare(t, manifests+"dashboard.json", string(dashboard))
}

// TestAlerts checks that each alert has a severity, a section in docs/runbooks.md, and a test in
// which it fires.
func TestAlerts(t *testing.T) {
	tests := string(read(t, "testdata/rules_test.yaml"))
	var alerts []string
	for _, alert := range rules(t).Alerts() {
		alerts = append(alerts, alert.Alert)
		if !slices.Contains([]string{"none", "warning", "critical"}, alert.Labels["severity"]) {
			t.Errorf("%s has the severity %q", alert.Alert, alert.Labels["severity"])
		}
		url := runbooks + strings.ToLower(alert.Alert)
		if got := alert.Annotations["runbook_url"]; got != url {
			t.Errorf("%s has the runbook %q", alert.Alert, got)
		}
		if !regexp.MustCompile(`runbook_url: ` + regexp.QuoteMeta(url) + `\b`).MatchString(tests) {
			t.Errorf("no test in which %s fires", alert.Alert)
		}
	}
	var sections []string
	for _, section := range strings.Split(string(read(t, root+"docs/runbooks.md")), "\n## ")[1:] {
		title, text, _ := strings.Cut(section, "\n")
		sections = append(sections, title)
		if !strings.Contains(text, "kubectl upgrade ") && !strings.Contains(text, "$ kubectl ") {
			t.Errorf("the runbook of %s has no command", title)
		}
	}
	slices.Sort(alerts)
	slices.Sort(sections)
	if diff := cmp.Diff(alerts, sections); diff != "" {
		t.Errorf("docs/runbooks.md (-alerts +sections):\n%s", diff)
	}
}

// TestMetricsExist checks that rules, runbooks and dashboard use only metrics of the table and
// labels that they have, and that their steps and reasons exist.
func TestMetricsExist(t *testing.T) {
	rows := map[string]metrics.Metric{}
	for _, row := range metrics.Table {
		rows[row.FullName()] = row
		if row.Type == metrics.Histogram {
			rows[row.FullName()+"_bucket"] = row
		}
	}
	var texts []string
	for _, group := range rules(t).Groups {
		for _, rule := range group.Rules {
			texts = append(texts, rule.Expr, fmt.Sprint(rule.Annotations))
		}
	}
	for _, row := range Rows {
		for _, p := range row.Panels {
			for _, q := range p.Queries {
				texts = append(texts, q.Expr)
			}
		}
	}
	used := regexp.MustCompile(`(kubectl_upgrade_[a-z_]+)(?:\{([^}%]*)\})?`)
	matcher := regexp.MustCompile(`(\w+)(?:=~|!=|=)"([^"]*)"`)
	count := 0
	for _, text := range texts {
		for _, match := range used.FindAllStringSubmatch(text, -1) {
			row, found := rows[match[1]]
			if !found {
				t.Errorf("%s is not in the table of metrics", match[1])
			}
			for _, m := range matcher.FindAllStringSubmatch(match[2], -1) {
				count++
				if !slices.Contains(row.Labels, m[1]) {
					t.Errorf("%s has no label %s", match[1], m[1])
				}
				for value := range strings.SplitSeq(m[2], "|") {
					if m[1] == "step" && v1alpha1.Step(value).Info().Meaning == "a step of a newer agent" || m[1] == "reason" && v1alpha1.Reason(value).Info().Meaning == "" {
						t.Errorf("there is no %s %s", m[1], value)
					}
				}
			}
		}
	}
	if count < 10 {
		t.Errorf("only %d matchers were found: the pattern may be wrong", count)
	}
}

// TestInhibitionInDocs checks that the page shows the inhibition of alertmanager.yaml.
func TestInhibitionInDocs(t *testing.T) {
	text := string(read(t, manifests+"alertmanager.yaml"))
	_, rule, _ := strings.Cut(text, "inhibit_rules:")
	if !strings.Contains(string(read(t, root+"docs/monitoring.md")), "inhibit_rules:"+rule) {
		t.Error("docs/monitoring.md has another inhibition than manifests/monitoring/alertmanager.yaml")
	}
	var parsed map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &parsed); err != nil {
		t.Error(err)
	}
}

// TestComponent checks that kustomize takes the component beside manifests.
func TestComponent(t *testing.T) {
	kubectl := apitest.Path(t, "kubectl")
	// Outside of the checkout, and without symbolic links on the way to it.
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	to, err := filepath.Rel(dir, apitest.Root(t))
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("resources: [%s/manifests]\ncomponents: [%s/manifests/monitoring]\n", to, to)
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(kubectl, "kustomize", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{"kind: ServiceMonitor", "kind: PrometheusRule", "name: kubectl-upgrade-dashboard\n", "grafana_dashboard: \"1\"", "kind: DaemonSet"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %s", want)
		}
	}
}

// TestDashboard checks what Grafana needs of a dashboard: panels with their own ids that do not
// overlap, within 24 columns.
func TestDashboard(t *testing.T) {
	text, err := Dashboard()
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	taken, ids := map[[2]int]string{}, map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("%s has an id that another panel has", p.Title)
		}
		ids[p.ID] = true
		if p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("%s is too wide", p.Title)
		}
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if other := taken[at]; other != "" {
					t.Fatalf("%s overlaps %s", p.Title, other)
				}
				taken[at] = p.Title
			}
		}
	}
}

// TestQueryToFollow checks that `make test-rules` tests the query of docs/fleets.md.
func TestQueryToFollow(t *testing.T) {
	_, recipe, found := strings.Cut(string(read(t, root+"docs/fleets.md")), "<!-- recipe: follow -->\n```yaml\n")
	recipe, _, ended := strings.Cut(recipe, "```")
	var policy v1alpha1.UpgradePolicy
	if err := yaml.UnmarshalStrict([]byte(recipe), &policy); err != nil || !found || !ended {
		t.Fatalf("the recipe is no UpgradePolicy: %v\n%s", err, recipe)
	}
	var tested struct {
		Tests []struct {
			Queries []struct {
				Expression string `json:"expr"`
			} `json:"promql_expr_test"`
		} `json:"tests"`
	}
	if err := yaml.Unmarshal(read(t, "testdata/follow_test.yaml"), &tested); err != nil {
		t.Fatal(err)
	}
	words := func(query string) string { return strings.Join(strings.Fields(query), " ") }
	for _, one := range tested.Tests {
		if diff := cmp.Diff(words(policy.Spec.Gates[0].Prometheus.Query), words(one.Queries[0].Expression)); diff != "" {
			t.Errorf("docs/fleets.md and testdata/follow_test.yaml have different queries:\n%s", diff)
		}
	}
}
