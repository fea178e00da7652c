//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// monitored is a cluster that a Prometheus watches.
type monitored struct {
	*testCluster
	test       *testing.T
	page       string // docs/monitoring.md
	prometheus prometheus
	began      time.Time // when Prometheus had its first sample
}

// TestPrometheus installs the component of docs/monitoring.md, has a real Prometheus discover
// and scrape the coordinator as a ServiceAccount, with our rules as they are, and checks that
// upgrades that work fire no alert, that a budget that blocks a drain fires one, and that each
// query of the dashboard returns data: `make e2e-prometheus`.
func TestPrometheus(t *testing.T) {
	m := &monitored{test: t, testCluster: newLab(t, 1, 2, "--update-engine")}
	page, err := os.ReadFile(filepath.Join(m.root, "docs", "monitoring.md"))
	if err != nil {
		t.Fatal(err)
	}
	m.page = string(page)
	for _, step := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"the component is installed", m.installComponent},
		{"Prometheus discovers and scrapes the coordinator", m.scrape},
		{"a patch is staged while the window is closed", m.stage},
		{"no alert fires while every node reboots", m.rebootAll},
		{"a budget that blocks a drain fires one alert", m.blockDrain},
		{"the alert ends with its cause", m.unblockDrain},
		{"each query of the dashboard returned data", m.checkDashboard},
	} {
		if !t.Run(step.name, step.run) {
			t.FailNow()
		}
	}
}

// yamlBlock returns the page's block of YAML that has the text.
func (m *monitored) yamlBlock(t *testing.T, text string) string {
	t.Helper()
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(m.page, -1) {
		if strings.Contains(block[1], text) {
			return block[1]
		}
	}
	t.Fatalf("docs/monitoring.md has no block with %q", text)
	return ""
}

// installComponent applies the page's kustomization with the path of this checkout,
// after the definitions of the Prometheus operator's custom resources.
func (m *monitored) installComponent(t *testing.T) {
	for _, kind := range []string{"servicemonitors", "prometheusrules"} {
		file := filepath.Join(os.Getenv("PROMETHEUS_OPERATOR"), "example", "prometheus-operator-crd", "monitoring.coreos.com_"+kind+".yaml")
		m.must(t)(m.Kube(m.ctx, "apply", "--server-side", "-f", file))
		m.must(t)(m.Kube(m.ctx, "wait", "--for", "condition=Established", "crd/"+kind+".monitoring.coreos.com", "--timeout", "1m"))
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	checkout, err := filepath.Rel(dir, m.root)
	if err != nil {
		t.Fatal(err)
	}
	text := replaced(t, m.yamlBlock(t, "# kustomization.yaml"), "kubectl-upgrade/manifests", checkout+"/manifests")
	writeFile(t, filepath.Join(dir, "kustomization.yaml"), text)
	m.must(t)(m.Lab.Lab(m.ctx, "load-image", m.imageTar()))
	t.Log("\n" + m.must(t)(m.Kube(m.ctx, "apply", "--server-side", "-k", dir)))
	if err := m.Configure(m.ctx, m.root, v1alpha1.ModeManage); err != nil {
		t.Fatal(err)
	}
	m.connect(t)
}

// scrapeEvery is how often Prometheus scrapes and evaluates the rules: more often than usual,
// so that it sees alerts that are pending for seconds.
const scrapeEvery = 2 * time.Second

// inCluster are the parts of the page's scrape configuration that are for a Prometheus in a
// pod. This one runs beside the cluster.
const (
	mountedToken = "/var/run/secrets/kubernetes.io/serviceaccount/token"
	discovery    = "{role: endpointslice,"
)

// scrape gives the ServiceAccount of the page the page's rights, and starts Prometheus with the
// page's scrape configuration and a token of that ServiceAccount, which is its only identity.
func (m *monitored) scrape(t *testing.T) {
	m.must(t)(m.Kube(m.ctx, "create", "namespace", "monitoring"))
	m.must(t)(m.Kube(m.ctx, "-n", "monitoring", "create", "serviceaccount", "prometheus-k8s"))
	dir := m.test.TempDir()
	m.makeCertificate(t, dir)
	for _, match := range commandLine.FindAllStringSubmatch(m.page, -1) {
		if args := strings.Fields(match[1]); slices.Contains(args, "create") {
			for i, file := range args { // the page's are in the present folder
				if i > 0 && args[i-1] == "--from-file" {
					key, name, named := strings.Cut(file, "=")
					if !named {
						name = key
					}
					args[i] = key + "=" + filepath.Join(dir, name)
				}
			}
			m.must(t)(m.Kube(m.ctx, args[1:]...))
		}
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](7200)}}
	token, err := m.kube.CoreV1().ServiceAccounts("monitoring").CreateToken(m.ctx, "prometheus-k8s", request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tokenFile, caFile, config := filepath.Join(dir, "token"), filepath.Join(dir, "ca.crt"), filepath.Join(dir, "prometheus.yaml")
	writeFile(t, tokenFile, token.Status.Token)
	writeFile(t, caFile, string(m.config.CAData))
	text := replaced(t, m.yamlBlock(t, "scrape_configs:"), mountedToken, tokenFile)
	text = replaced(t, text, discovery, fmt.Sprintf("%s api_server: %q, authorization: {credentials_file: %q}, tls_config: {ca_file: %q},", discovery, m.config.Host, tokenFile, caFile))
	text = replaced(t, text, "/etc/prometheus/coordinator-metrics/ca.crt", filepath.Join(dir, "tls.crt"))
	text = fmt.Sprintf("global: {scrape_interval: %[1]s, evaluation_interval: %[1]s}\nrule_files: [%[2]q]\n", scrapeEvery, filepath.Join(m.root, "manifests", "monitoring", "rules.yaml")) + text
	writeFile(t, config, text)
	m.prometheus = startPrometheus(m.test, filepath.Join(m.root, "bin", "prometheus"), config)
	// The kubelet looks for the Secret once in a minute or two.
	m.eachSecond(t, 4*time.Minute, "the leader's metrics are scraped", func() error { return m.samples("kubectl_upgrade_leader == 1", 1) })
	m.began = time.Now()
	m.checkTargets(t)
}

// makeCertificate runs the page's openssl, which writes tls.key and tls.crt into the folder.
func (m *monitored) makeCertificate(t *testing.T, dir string) {
	t.Helper()
	_, command, found := strings.Cut(m.page, "$ openssl ")
	command, _, ended := strings.Cut(command, "\n$ ")
	if !found || !ended {
		t.Fatal("docs/monitoring.md has no openssl command")
	}
	openssl := exec.CommandContext(m.ctx, "sh", "-c", "openssl "+command)
	openssl.Dir = dir
	if out, err := openssl.CombinedOutput(); err != nil {
		t.Fatalf("openssl %s: %v\n%s", command, err, out)
	}
}

// checkTargets checks that Prometheus has one target, which is up: two coordinators on one
// control plane share its port.
func (m *monitored) checkTargets(t *testing.T) {
	t.Helper()
	var targets struct {
		ActiveTargets []struct {
			DiscoveredLabels             map[string]string
			ScrapeURL, Health, LastError string
		}
	}
	if err := m.prometheus.get("/api/v1/targets?state=active", &targets); err != nil {
		t.Fatal(err)
	}
	if len(targets.ActiveTargets) != 1 {
		t.Errorf("%d targets, want one: %v", len(targets.ActiveTargets), targets)
	}
	for _, target := range targets.ActiveTargets {
		pod := target.DiscoveredLabels["__meta_kubernetes_pod_name"]
		t.Logf("discovered %s from pod %s: %s %s", target.ScrapeURL, pod, target.Health, target.LastError)
		if target.Health != "up" || !strings.HasPrefix(pod, "coordinator-") {
			t.Errorf("target %v", target)
		}
	}
}

// samples returns an error unless the query has that many series now.
func (m *monitored) samples(query string, want int) error {
	got, err := m.prometheus.now(query)
	if err == nil && len(got) != want {
		err = fmt.Errorf("%s has %d series, want %d: %v", query, len(got), want, got)
	}
	return err
}

// stage has every node stage a patch, which then does not begin.
func (m *monitored) stage(t *testing.T) {
	m.must(t)(m.Lab.Lab(m.ctx, "publish", to, "--programs-of", from))
	m.apply(t, scenario.ClosedSchedule(time.Now()))
	m.apply(t, patchOnly)
	m.eachSecond(t, 5*time.Minute, "every node has staged the patch", func() error {
		return m.samples(fmt.Sprintf(`max by (version) (kubectl_upgrade_nodes_staged{version=%q}) == %d`, to, len(m.nodes)), 1)
	})
	m.awaitUpgradeStatus(t, v1alpha1.ReasonWindowClosed)
	m.must(t)(m.Kube(m.ctx, "delete", "clusterupgrade", "patch"))
}

// requireReboot has the operating systems of the nodes ask for a reboot.
func (m *monitored) requireReboot(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		m.must(t)(m.Lab.Lab(m.ctx, "update-engine", name, "need-reboot"))
		m.awaitRebootRequired(t, name, "update_engine", time.Minute)
	}
}

func (m *monitored) rebootAll(t *testing.T) {
	m.requireReboot(t, m.nodes...)
	m.apply(t, scenario.OpenSchedule)
	m.apply(t, rebootNow)
	m.eventually(t, 10*time.Minute, "the Reboot has succeeded", func() error { return m.upgradeSucceeded("reboot") })
	m.checkReboots(t, map[string]int{"cp1": 1, "w1": 1, "w2": 1})
	time.Sleep(5 * scrapeEvery)
	m.checkFired(t)
	m.checkPending(t)
	if err := m.firedFor("w1", "w2"); err != nil {
		t.Error(err)
	}
}

// firedFor returns an error unless KubectlUpgradeNodeBeingUpgraded has fired for the nodes, as
// it should in a rollout: no alert at all may also mean that no rule was evaluated.
func (m *monitored) firedFor(names ...string) error {
	fired, err := m.prometheus.over(`ALERTS{alertstate="firing", severity="none"}`, m.began, time.Now(), scrapeEvery)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.ContainsFunc(fired, func(s series) bool { return s.labels["node"] == name }) {
			return fmt.Errorf("KubectlUpgradeNodeBeingUpgraded did not fire for %s: %v", name, fired)
		}
	}
	return nil
}

// checkFired checks which alerts, but those that are only shown, have fired since Prometheus started.
func (m *monitored) checkFired(t *testing.T, want ...string) {
	t.Helper()
	fired, err := m.prometheus.over(`ALERTS{alertstate="firing", severity!="none"}`, m.began, time.Now(), scrapeEvery)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range fired {
		got = append(got, describeAlert(s))
	}
	slices.Sort(got)
	t.Logf("alerts that fired: %q", got)
	if !slices.Equal(got, want) {
		t.Errorf("alerts that fired: %q, want %q", got, want)
	}
}

func describeAlert(s series) string {
	text := s.labels["alertname"]
	for _, label := range []string{"node", "step", "namespace", "budget", "schedule", "upgrade"} {
		if value := s.labels[label]; value != "" {
			text += " " + label + "=" + value
		}
	}
	return text
}

// checkPending checks that no alert came near to firing: each was pending for less than a third
// of the time that it has to last.
func (m *monitored) checkPending(t *testing.T) {
	t.Helper()
	var rules struct {
		Groups []struct {
			Rules []struct {
				Name     string
				Duration float64
			}
		}
	}
	if err := m.prometheus.get("/api/v1/rules?type=alert", &rules); err != nil {
		t.Fatal(err)
	}
	lasts := map[string]time.Duration{}
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			lasts[rule.Name] = time.Duration(rule.Duration * float64(time.Second))
		}
	}
	if len(lasts) < 10 {
		t.Fatalf("Prometheus has the alerts %v", lasts)
	}
	pending, err := m.prometheus.over(`ALERTS{alertstate="pending"}`, m.began, time.Now(), scrapeEvery)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range pending {
		// Several times together count as one.
		was, limit := time.Duration(len(s.samples))*scrapeEvery, lasts[s.labels["alertname"]]/3
		t.Logf("%s was pending for %s", describeAlert(s), was)
		if was > limit {
			t.Errorf("%s was pending for %s, want at most %s", describeAlert(s), was, limit)
		}
	}
}

// blocked is a Reboot that the budget of the pod stuck blocks.
var blocked = strings.Replace(rebootNow, "name: reboot", "name: blocked", 1)

// stuckAlert is the alert that the budget fires.
const stuckAlert = "KubectlUpgradeDrainBlocked node=w1 namespace=default budget=stuck"

func (m *monitored) blockDrain(t *testing.T) {
	m.apply(t, stuck)
	m.must(t)(m.Kube(m.ctx, "-n", "default", "rollout", "status", "deployment/stuck", "--timeout", "2m"))
	m.requireReboot(t, "w1")
	m.apply(t, blocked)
	began := time.Now()
	m.eachSecond(t, 20*time.Minute, "the alert fires", func() error {
		return m.samples(`ALERTS{alertstate="firing", alertname="KubectlUpgradeDrainBlocked"}`, 1)
	})
	t.Logf("the alert fired %s after the upgrade was created", time.Since(began).Round(time.Second))
	m.checkFired(t, stuckAlert)
	t.Log("\n" + m.must(t)(m.Upgrade(m.ctx, "status")))
}

func (m *monitored) unblockDrain(t *testing.T) {
	m.must(t)(m.Kube(m.ctx, "-n", "default", "delete", "poddisruptionbudget", "stuck"))
	began := time.Now()
	m.eventually(t, 15*time.Minute, "the Reboot of w1 has succeeded", func() error { return m.succeeded("blocked") })
	m.eachSecond(t, 10*time.Minute, "the alert has ended", func() error { return m.samples(`ALERTS{severity!="none"}`, 0) })
	t.Logf("the alert ended %s after the budget was deleted", time.Since(began).Round(time.Second))
	m.checkFired(t, stuckAlert)
}

// checkDashboard checks that each query of the dashboard returned data at some time of the
// test, that never more than one leader was counted, and prints how much Prometheus scraped.
func (m *monitored) checkDashboard(t *testing.T) {
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	text, err := os.ReadFile(filepath.Join(m.root, "manifests", "monitoring", "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	ended, count := time.Now(), 0
	span := fmt.Sprintf("%ds", int(ended.Sub(m.began).Seconds()))
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			query := strings.NewReplacer("$__rate_interval", "1m", "$__range", span).Replace(target.Expr)
			got, err := m.prometheus.over(query, m.began, ended, scrapeEvery)
			if err != nil {
				t.Error(err)
				continue
			}
			if len(got) == 0 {
				t.Errorf("%s: no data for %s", panel.Title, query)
				continue
			}
			count++
			t.Logf("%s: %d series, such as %v %v", panel.Title, len(got), got[0].labels, got[0].samples[len(got[0].samples)-1])
		}
	}
	t.Logf("%d queries of the dashboard returned data within %s", count, span)
	m.checkLeaders(t, ended)
}

func (m *monitored) checkLeaders(t *testing.T, ended time.Time) {
	t.Helper()
	leaders, err := m.prometheus.over("count(kubectl_upgrade_leader == 1)", m.began, ended, scrapeEvery)
	if err != nil || len(leaders) != 1 {
		t.Fatal(leaders, err)
	}
	if most := slices.Max(leaders[0].samples); most != 1 {
		t.Errorf("%v leaders were counted at once, want one", most)
	}
	scraped, err := m.prometheus.over("scrape_samples_scraped", m.began, ended, scrapeEvery)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scraped {
		t.Logf("%s: at most %v samples in a scrape", s.labels["instance"], slices.Max(s.samples))
	}
}

// replaced replaces a part of a page's text, which must be there.
func replaced(t *testing.T, text, part, with string) string {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Fatalf("docs/monitoring.md has no %q in\n%s", part, text)
	}
	return strings.ReplaceAll(text, part, with)
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
