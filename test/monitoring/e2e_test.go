//go:build prometheus

package monitoring

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// world is a real API server with a coordinator, a Prometheus that scrapes it and an
// Alertmanager.
type world struct {
	*testing.T
	config       *rest.Config
	kube         kubernetes.Interface
	ours         *kube.Kinds
	metrics      string // the coordinator's address
	prometheus   prometheus
	alertmanager string
	reader       string // a token that may read metrics
	program      string
	first        *exec.Cmd // the coordinator that leads at first
}

// TestRealPrometheus checks that a real Prometheus scrapes a real coordinator over TLS with
// a token, that others may not, that it evaluates each rule, that the alerts of what is
// wrong fire and no other, that each query of the dashboard returns data, and that a real
// Alertmanager silences a node only while its upgrade takes no longer than expected.
func TestRealPrometheus(t *testing.T) {
	w := newWorld(t)
	t.Run("who may read", func(t *testing.T) { w.T = t; w.checkAccess() })
	w.T = t
	w.writeProblems()
	w.awaitScrape()
	t.Run("rules", func(t *testing.T) { w.T, w.prometheus.T = t, t; w.checkRules() })
	t.Run("alerts", func(t *testing.T) { w.T, w.prometheus.T = t, t; w.checkAlerts() })
	t.Run("inhibition", func(t *testing.T) { w.T, w.prometheus.T = t, t; w.checkInhibition() })
	w.T, w.prometheus.T = t, t
	second := w.startCoordinator()
	t.Run("dashboard", func(t *testing.T) { w.T, w.prometheus.T = t, t; w.checkDashboard() })
	t.Run("failover", func(t *testing.T) { w.T, w.prometheus.T = t, t; w.checkFailover(second) })
	t.Run("silences", func(t *testing.T) { w.T, w.prometheus.T = t, t; w.checkSilences(second) })
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, config: apitest.Start(t)}
	apitest.InstallCRDs(t, w.config)
	kubectl(t, w.config, "apply", "-f", root+"manifests/namespace.yaml")
	kubectl(t, w.config, "apply", "-k", root+"manifests/coordinator")
	w.kube = kubernetes.NewForConfigOrDie(w.config)
	ours, err := kube.NewKinds(w.config)
	w.must(err)
	w.ours = ours
	w.createObjects()

	address := freeAddress(t)
	w.metrics = "https://" + address
	w.program = build(t)
	w.first = w.startCoordinator()
	eventually(t, func() string {
		if code, body := get(t, w.metrics+"/readyz", "", nil); code != http.StatusOK {
			return body
		}
		return ""
	})
	w.kubeAccount("prometheus-k8s")
	kubectl(t, w.config, "create", "clusterrolebinding", "kubectl-upgrade-metrics-reader",
		"--clusterrole", "kubectl-upgrade-metrics-reader", "--serviceaccount", "kubectl-upgrade:prometheus-k8s")
	w.reader = w.token("prometheus-k8s")
	w.startAlertmanager()
	w.startPrometheus(address)
	w.addGate()
	return w
}

// addGate adds a gate that asks Prometheus.
func (w *world) addGate() {
	w.Helper()
	patch := fmt.Sprintf(`{"spec":{"gates":[{"name":"alerts","prometheus":{"url":%q,"query":"ALERTS{alertname=\"None\"}","expect":"Empty"}}]}}`, w.prometheus.address)
	_, err := w.ours.UpgradePolicies.Patch(w.Context(), v1alpha1.PolicyName, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	w.must(err)
}

// startCoordinator starts a coordinator with its ServiceAccount's rights.
func (w *world) startCoordinator() *exec.Cmd {
	w.Helper()
	return run(w.T, w.program, "--kubeconfig", kubeconfig(w.T, w.config, w.token("coordinator")),
		"--metrics-address", strings.TrimPrefix(w.metrics, "https://"))
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) kubeAccount(name string) {
	w.Helper()
	_, err := w.kube.CoreV1().ServiceAccounts(v1alpha1.Namespace).Create(w.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	w.must(err)
}

func (w *world) token(account string) string {
	w.Helper()
	token, err := w.kube.CoreV1().ServiceAccounts(v1alpha1.Namespace).CreateToken(w.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	w.must(err)
	return token.Status.Token
}

func (w *world) startAlertmanager() {
	config := string(read(w.T, manifests+"alertmanager.yaml")) + "\nroute: {receiver: none, group_wait: 0s}\nreceivers: [{name: none}]\n"
	address := freeAddress(w.T)
	w.alertmanager = "http://" + address
	run(w.T, "prometheus-alertmanager", "--config.file", write(w.T, "alertmanager.yaml", config), "--storage.path", w.TempDir(),
		"--web.listen-address", address, "--cluster.listen-address=")
}

// startPrometheus starts a Prometheus with the rules as they are, but for the time that an
// alert has to last, which would take too long here; promtool's tests check that.
func (w *world) startPrometheus(target string) {
	fast := regexp.MustCompile(`(?m)^ +for: .*\n`).ReplaceAll(read(w.T, manifests+"rules.yaml"), nil)
	config := fmt.Sprintf(`
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%s]
alerting: {alertmanagers: [{static_configs: [{targets: [%q]}]}]}
scrape_configs:
  - job_name: kubectl-upgrade
    scheme: https
    honor_labels: true
    authorization: {credentials_file: %s}
    tls_config: {insecure_skip_verify: true}
    static_configs: [{targets: [%q]}]
`, write(w.T, "rules.yaml", string(fast)), strings.TrimPrefix(w.alertmanager, "http://"), write(w.T, "token", w.reader), target)
	address := freeAddress(w.T)
	w.prometheus = prometheus{w.T, "http://" + address}
	run(w.T, "prometheus", "--config.file", write(w.T, "prometheus.yaml", config), "--storage.tsdb.path", w.TempDir(), "--web.listen-address", address)
}

// createObjects creates six nodes, a source with a newer patch, a policy that asks for it,
// and schedules.
func (w *world) createObjects() {
	index := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
		for i, v := range []string{"v1.34.3", "v1.34.4"} {
			fmt.Fprintf(answer, "%064x  kubernetes-%s-x86-64.raw\n", i+1, v)
		}
	}))
	w.Cleanup(index.Close)
	policy := &v1alpha1.UpgradePolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}}
	policy.Spec.Mode, policy.Spec.Automatic = v1alpha1.ModeManage, []v1alpha1.AutomaticUpgrade{{Type: v1alpha1.TypePatch}}
	policy.Spec.Source = v1alpha1.ImageSource{URL: index.URL + "/", TransportPolicy: v1alpha1.TransportAllowHTTP, IntervalSeconds: 1}
	_, err := w.ours.UpgradePolicies.Create(w.Context(), policy, metav1.CreateOptions{})
	w.must(err)
	w.schedule("nights", "FREQ=DAILY")
	for _, name := range []string{"cp1", "w1", "w2", "w3", "w4", "w5"} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if name == "cp1" {
			node.Labels = map[string]string{"node-role.kubernetes.io/control-plane": ""}
		}
		made, err := w.kube.CoreV1().Nodes().Create(w.Context(), node, metav1.CreateOptions{})
		w.must(err)
		made.Status.NodeInfo = corev1.NodeSystemInfo{KubeletVersion: "v1.34.3", BootID: "b", Architecture: "amd64", OperatingSystem: "linux"}
		made.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		_, err = w.kube.CoreV1().Nodes().UpdateStatus(w.Context(), made, metav1.UpdateOptions{})
		w.must(err)
	}
	for _, component := range []string{"kube-apiserver", "etcd"} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: component + "-cp1", Labels: map[string]string{"component": component, "tier": "control-plane"}},
			Spec:       corev1.PodSpec{NodeName: "cp1", Containers: []corev1.Container{{Name: component, Image: "registry.k8s.io/" + component + ":v1.34.3"}}},
		}
		made, err := w.kube.CoreV1().Pods("kube-system").Create(w.Context(), pod, metav1.CreateOptions{})
		w.must(err)
		made.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		_, err = w.kube.CoreV1().Pods("kube-system").UpdateStatus(w.Context(), made, metav1.UpdateOptions{})
		w.must(err)
	}
	ended := metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))
	record := &v1alpha1.UpgradeRecord{
		ObjectMeta: metav1.ObjectMeta{Name: "past", Labels: map[string]string{v1alpha1.UpgradeUIDLabel: "u0"}},
		Spec: v1alpha1.UpgradeRecordSpec{
			UpgradeSummary: v1alpha1.UpgradeSummary{
				Upgrade: v1alpha1.UpgradeReference{Name: "past", UID: "u0"}, Type: v1alpha1.TypePatch, Outcome: v1alpha1.OutcomeSucceeded, EndTime: ended,
			},
			Piece: 1, Pieces: 1,
		},
	}
	_, err = w.ours.UpgradeRecords.Create(w.Context(), record, metav1.CreateOptions{})
	w.must(err)
}

// schedule creates a schedule, also one that only an earlier release accepted.
func (w *world) schedule(name, rule string) {
	w.Helper()
	start := time.Now().Add(-time.Hour).Truncate(time.Second)
	s := &v1alpha1.MaintenanceSchedule{ObjectMeta: metav1.ObjectMeta{Name: name}}
	s.Spec.TimeZone = "UTC"
	s.Spec.MaintenanceWindows = []v1alpha1.MaintenanceWindow{{Period: v1alpha1.Period{
		Name: "night", StartTime: metav1.NewTime(start), EndTime: metav1.NewTime(start.Add(3 * time.Hour)), Recurrence: rule,
	}}}
	apitest.CreateWithoutRules(w, w.config, func() error {
		_, err := w.ours.MaintenanceSchedules.Create(w.Context(), s, metav1.CreateOptions{})
		return err
	})
}

// checkAccess checks who may read metrics.
func (w *world) checkAccess() {
	w.kubeAccount("other")
	other := w.token("other")
	for name, c := range map[string]struct {
		token string
		want  int
	}{
		"without a token":                {"", http.StatusUnauthorized},
		"with a token that is not valid": {"x", http.StatusUnauthorized},
		"without the right":              {other, http.StatusForbidden},
		"with the right":                 {w.reader, http.StatusOK},
	} {
		code, body := get(w.T, w.metrics+"/metrics", c.token, nil)
		w.Logf("%s: %d %.90q", name, code, body)
		if code != c.want {
			w.Errorf("%s: got %d, want %d", name, code, c.want)
		}
	}
}

// writeProblems writes what agents would: w1 is being upgraded, and its drain is blocked by a
// budget; w2 takes too long; w3 was rolled back; w4's agent is silent; w5 has passed through
// steps. One schedule is invalid.
func (w *world) writeProblems() {
	var upgrade v1alpha1.UpgradeReference
	eventually(w.T, func() string { // until the coordinator has written each order
		list, err := w.ours.NodeUpgrades.List(w.Context(), metav1.ListOptions{})
		w.must(err)
		orders := 0
		for _, n := range list.Items {
			if n.Spec.Upgrade != nil {
				upgrade = *n.Spec.Upgrade
				orders++
			}
		}
		if orders != 6 {
			return fmt.Sprintf("%d nodes have an order, want 6", orders)
		}
		return ""
	})
	began := time.Now()
	report := func(node string, step v1alpha1.Step, since time.Duration, reason v1alpha1.Reason, message string, steps ...v1alpha1.Step) {
		w.Helper()
		u, err := w.ours.NodeUpgrades.Get(w.Context(), node, metav1.GetOptions{})
		w.must(err)
		status := v1alpha1.NodeUpgradeStatus{
			ObservedGeneration: u.Generation, Upgrade: &upgrade, Step: step, StepStartTime: ptr.To(metav1.NewTime(began.Add(-since).Truncate(time.Second))),
			Versions: v1alpha1.NodeVersions{Kubelet: "v1.34.3", Staged: "v1.34.4", Kubeadm: "v1.34.3", ControlPlane: "v1.34.3"},
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionUpToDate, Status: metav1.ConditionFalse, Reason: string(reason), Message: message,
				LastTransitionTime: metav1.NewTime(began.Truncate(time.Second))}},
		}
		from := began.Add(-since)
		for i, one := range steps {
			entry := v1alpha1.StepTime{Step: one, StartTime: metav1.NewMicroTime(from.Add(time.Duration(i) * 10 * time.Second))}
			if i < len(steps)-1 {
				entry.EndTime = ptr.To(metav1.NewMicroTime(from.Add(time.Duration(i+1) * 10 * time.Second)))
			}
			status.Steps = append(status.Steps, entry)
		}
		_, err = w.ours.NodeUpgrades.Apply(w.Context(), &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: node}, Status: status}, "node-agent", "status")
		w.must(err)
	}
	report("cp1", v1alpha1.StepWaiting, time.Hour, v1alpha1.ReasonAwaitingRelease, "")
	// Prometheus has to see a histogram before and after.
	report("w5", v1alpha1.StepSettling, time.Minute, v1alpha1.ReasonObserving, "", v1alpha1.StepLocking, v1alpha1.StepCordoning, v1alpha1.StepUncordoning, v1alpha1.StepSettling)
	w.awaitScrape()
	report("w5", v1alpha1.StepWaiting, 50*time.Second, v1alpha1.ReasonAwaitingRelease, "", v1alpha1.StepLocking, v1alpha1.StepCordoning, v1alpha1.StepUncordoning, v1alpha1.StepUnlocking, v1alpha1.StepWaiting)
	w.awaitScrape()
	report("w1", v1alpha1.StepDraining, 20*time.Second, v1alpha1.ReasonDrainBlocked,
		"1 pod remains; cannot be evicted now: shop/web-0: The disruption budget web needs 2 healthy pods and has 2 currently",
		v1alpha1.StepLocking, v1alpha1.StepCordoning, v1alpha1.StepDraining)
	report("w2", v1alpha1.StepVerifying, 3*time.Hour, v1alpha1.ReasonNotReadyInTime, "the node is not Ready", v1alpha1.StepLocking, v1alpha1.StepCordoning, v1alpha1.StepVerifying)
	report("w3", v1alpha1.StepRolledBack, 10*time.Minute, v1alpha1.ReasonRolledBack, "the kubelet did not become healthy", v1alpha1.StepLocking, v1alpha1.StepRolledBack)
	w.schedule("broken", "FREQ=MONTHLY;BYSETPOS=1")
	eventually(w.T, func() string { // until the coordinator has created the slot
		node, err := w.kube.CoreV1().Nodes().Get(w.Context(), "w1", metav1.GetOptions{})
		w.must(err)
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"w1/%s"}},"spec":{"holderIdentity":"w1/%s"}}`, v1alpha1.ReservedForAnnotation, node.UID, node.UID)
		if _, err := w.kube.CoordinationV1().Leases(v1alpha1.Namespace).Patch(w.Context(), "slot-0", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			return err.Error()
		}
		return ""
	})
}

// awaitScrape waits until Prometheus has scraped what the coordinator knows now.
func (w *world) awaitScrape() {
	w.Helper()
	after := time.Now().Add(2 * time.Second).Unix()
	w.prometheus.T = w.T
	eventually(w.T, func() string {
		if code, body := get(w.T, w.prometheus.address+"/-/ready", "", nil); code != http.StatusOK {
			return "Prometheus: " + body
		}
		up := w.prometheus.query(fmt.Sprintf(`kubectl_upgrade_leader == 1 and timestamp(kubectl_upgrade_leader) > %d`, after))
		if len(up) != 1 {
			var targets any
			_, body := get(w.T, w.prometheus.address+"/api/v1/targets", "", &targets)
			return fmt.Sprintf("the leader was not scraped: %.600s", body)
		}
		return ""
	})
}

// checkRules checks that Prometheus evaluates each rule without an error.
func (w *world) checkRules() {
	want := 0
	for _, group := range rules(w.T).Groups {
		want += len(group.Rules)
	}
	eventually(w.T, func() string {
		var answer struct {
			Data struct {
				Groups []struct {
					Rules []struct{ Name, Health, LastError string }
				}
			}
		}
		if code, body := get(w.T, w.prometheus.address+"/api/v1/rules", "", &answer); code != http.StatusOK {
			return body
		}
		healthy := 0
		for _, group := range answer.Data.Groups {
			for _, rule := range group.Rules {
				if rule.Health != "ok" {
					return fmt.Sprintf("%s is %s: %s", rule.Name, rule.Health, rule.LastError)
				}
				healthy++
			}
		}
		if healthy != want {
			return fmt.Sprintf("%d rules are evaluated, want %d", healthy, want)
		}
		return ""
	})
	w.Logf("%d rules are evaluated without an error", want)
}

// checkAlerts checks which alerts fire.
func (w *world) checkAlerts() {
	want := []string{
		"KubectlUpgradeAgentSilent node=w4",
		"KubectlUpgradeDrainBlocked node=w1 namespace=shop budget=web",
		"KubectlUpgradeNodeBeingUpgraded node=w1",
		"KubectlUpgradeNodeFailed node=w3 step=RolledBack",
		"KubectlUpgradeNodeOverdue node=w2",
		"KubectlUpgradeScheduleInvalid schedule=broken",
	}
	eventually(w.T, func() string {
		var got []string
		for _, s := range w.prometheus.query(`ALERTS{alertstate="firing"}`) {
			text := s.Metric["alertname"]
			for _, label := range []string{"node", "step", "namespace", "budget", "schedule", "upgrade"} {
				if v := s.Metric[label]; v != "" {
					text += " " + label + "=" + v
				}
			}
			got = append(got, text)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			return fmt.Sprintf("the firing alerts are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		return ""
	})
	w.Logf("firing:\n%s", strings.Join(want, "\n"))
}

// checkInhibition checks that Alertmanager silences the other alerts of a node that is being
// upgraded, and not those of a node that takes too long or that failed.
func (w *world) checkInhibition() {
	want := map[string]string{"w1": "suppressed", "w2": "active", "w3": "active", "cp1": "active"}
	var alerts []string
	for node := range want {
		alerts = append(alerts, fmt.Sprintf(`{"labels":{"alertname":"KubeNodeNotReady","node":%q,"severity":"warning"}}`, node))
	}
	answer, err := http.Post(w.alertmanager+"/api/v2/alerts", "application/json", strings.NewReader("["+strings.Join(alerts, ",")+"]"))
	w.must(err)
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		w.Fatal(answer.Status)
	}
	eventually(w.T, func() string {
		var list []struct {
			Labels map[string]string
			Status struct {
				State       string
				InhibitedBy []string
			}
		}
		if code, body := get(w.T, w.alertmanager+"/api/v2/alerts?filter="+`alertname%3D%22KubeNodeNotReady%22`, "", &list); code != http.StatusOK {
			return body
		}
		got := map[string]string{}
		for _, a := range list {
			got[a.Labels["node"]] = a.Status.State
			if a.Status.State == "suppressed" && len(a.Status.InhibitedBy) == 0 {
				got[a.Labels["node"]] = "suppressed by something else"
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Sprintf("KubeNodeNotReady is %v, want %v", got, want)
		}
		return ""
	})
	w.Logf("KubeNodeNotReady: %v", want)
}

// checkFailover checks that of two coordinators on one node the leader serves metrics, and
// that the other does when it takes over.
func (w *world) checkFailover(second *exec.Cmd) {
	leads := func() string {
		if _, body := get(w.T, w.metrics+"/metrics", w.reader, nil); !strings.Contains(body, "\nkubectl_upgrade_leader 1\n") {
			return fmt.Sprintf("the leader does not serve: %.200s", body)
		}
		return ""
	}
	if problem := leads(); problem != "" {
		w.Error(problem)
	}
	began := time.Now()
	w.must(w.first.Process.Signal(syscall.SIGTERM))
	_ = w.first.Wait()
	eventually(w.T, leads)
	w.Logf("the other coordinator served the metrics after %s", time.Since(began).Round(time.Second))
	if second.ProcessState != nil {
		w.Error("the second coordinator has ended")
	}
	w.awaitScrape()
}

// checkDashboard checks that each query of the dashboard returns data. While a schedule is
// invalid it is not known when a window opens.
func (w *world) checkDashboard() {
	w.must(w.ours.MaintenanceSchedules.Delete(w.Context(), "broken", metav1.DeleteOptions{}))
	eventually(w.T, func() string {
		if len(w.prometheus.query("kubectl_upgrade_window_change_time_seconds")) == 0 {
			return "no schedule is invalid any more, and it is not known when a window closes"
		}
		return ""
	})
	count := 0
	for _, row := range Rows {
		for _, panel := range row.Panels {
			for _, q := range panel.Queries {
				text := strings.NewReplacer("$__rate_interval", "1m", "$__range", "10m").Replace(q.Expr)
				result := w.prometheus.query(text)
				if len(result) == 0 {
					w.Errorf("%s: no data for %s", panel.Title, text)
					continue
				}
				count++
				if os.Getenv("VERBOSE") != "" {
					w.Logf("%s: %d series, such as %v %v", panel.Title, len(result), result[0].Metric, result[0].Value[1])
				}
			}
		}
	}
	w.Logf("%d queries of the dashboard return data", count)
}
