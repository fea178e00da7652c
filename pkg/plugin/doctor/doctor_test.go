package doctor

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// good returns a cluster in which all is well.
func good() Facts {
	clock := time.Second
	f := Facts{
		Now: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC), Plugin: "v0.3.0", Server: "v1.34.3", Clock: &clock,
		NodeClocks:  map[string]time.Duration{"w1": -time.Second},
		Rights:      []Right{{"see nodes", "list nodes", true, true}, {"request upgrades", "create clusterupgrades", true, false}},
		Writes:      []Write{{What: "cordons"}},
		Kinds:       []Kind{{Name: "NodeUpgrade"}},
		Coordinator: &Workload{"coordinator", "ghcr.io/kubectl-upgrade/node-agent:v0.3.0", 2, 2},
		Agents:      &Workload{"node-agent", "ghcr.io/kubectl-upgrade/node-agent:v0.3.0", 1, 1},
		Policy:      &v1alpha1.UpgradePolicy{},
		Nodes:       []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "w1"}}},
	}
	f.Policy.Spec.Mode = v1alpha1.ModeManage
	f.Policy.Status.CoordinatorVersion, f.Policy.Status.TimeZoneVersion = "v0.3.0", schedule.ZoneVersion()
	f.Policy.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSourceReady, Status: "True"}}
	f.Schedules = []v1alpha1.MaintenanceSchedule{{ObjectMeta: metav1.ObjectMeta{Name: "always"}}}
	f.Schedules[0].Spec.MaintenanceWindows = []v1alpha1.MaintenanceWindow{{Period: period("w", f.Now.AddDate(0, 0, -1), f.Now.AddDate(0, 0, 1))}}
	f.LastUpgrade = ended(v1alpha1.OutcomeSucceeded)
	f.Nodes[0].Status.NodeInfo = corev1.NodeSystemInfo{OSImage: "Flatcar Container Linux", OperatingSystem: "linux", KubeletVersion: "v1.34.3"}
	f.Nodes[0].Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: "True"}}
	f.NodeUpgrades = []v1alpha1.NodeUpgrade{{ObjectMeta: metav1.ObjectMeta{Name: "w1"}}}
	f.NodeUpgrades[0].Status.AgentVersion = "v0.3.0"
	return f
}

func period(name string, start, end time.Time) v1alpha1.Period {
	return v1alpha1.Period{Name: name, StartTime: metav1.NewTime(start), EndTime: metav1.NewTime(end)}
}

func ended(outcome v1alpha1.Outcome) *v1alpha1.ClusterUpgrade {
	u := &v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "v1.34.3"}}
	u.Status.Outcome = outcome
	u.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionFalse, Reason: string(v1alpha1.ReasonNodeFailed), Message: "node w1 failed"}}
	return u
}

// stalled returns an upgrade that a person has to look at.
func stalled() v1alpha1.ClusterUpgrade {
	u := *ended("")
	u.Status.Conditions = append(u.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: string(v1alpha1.ReasonNodeFailed)})
	u.Status.Conditions[0].Status = metav1.ConditionUnknown
	return u
}

// freeze returns an exclusion of everything that began an hour ago.
func freeze(now time.Time) v1alpha1.MaintenanceSchedule {
	s := v1alpha1.MaintenanceSchedule{ObjectMeta: metav1.ObjectMeta{Name: "audit"}}
	s.Spec.NodeSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"pool": "db"}}
	s.Spec.MaintenanceExclusions = []v1alpha1.MaintenanceExclusion{{Period: period("x", now.Add(-time.Hour), now.Add(time.Hour)), Comment: "the auditors are here"}}
	return s
}

// TestCheck changes one fact at a time, and looks for the line that this gives.
func TestCheck(t *testing.T) {
	for _, line := range Check(good()).Checks {
		if line.Level != OK {
			t.Errorf("all is well: %+v", line)
		}
	}
	uninstalled := func(f *Facts) {
		f.Kinds, f.Coordinator, f.Agents, f.Policy, f.NodeUpgrades = []Kind{{Name: "NodeUpgrade", Missing: true}}, nil, nil, nil, nil
	}
	policyCondition := func(kind, status string) func(*Facts) {
		return func(f *Facts) {
			f.Policy.Status.Conditions = []metav1.Condition{{Type: kind, Status: metav1.ConditionStatus(status), Message: "because"}}
		}
	}
	certificate := func(by v1alpha1.CertificateRenewer, days int) func(*Facts) {
		return func(f *Facts) {
			f.Inventories = []v1alpha1.NodeInventory{{ObjectMeta: metav1.ObjectMeta{Name: "cp1"}}}
			f.Inventories[0].Certificates = []v1alpha1.CertificateFacts{{Path: "/etc/kubernetes/pki/apiserver.crt", RenewedBy: by, NotAfter: metav1.NewTime(f.Now.AddDate(0, 0, days))}}
		}
	}
	hour := time.Hour
	for _, test := range []struct {
		name    string
		change  func(*Facts)
		want    string // check level: a part of the message
		verdict Level
	}{
		{"old API server", func(f *Facts) { f.Server = "v1.31.9" }, "api-server fail: needs v1.32", Fail},
		{"oldest API server", func(f *Facts) { f.Server = "v1.32.0" }, "api-server ok: runs v1.32.0", OK},
		{"no release", func(f *Facts) { f.Server = "v1.34" }, "api-server warn: not a release", Warn},
		{"no version", func(f *Facts) { f.Server = "" }, "api-server unknown: could not be read", OK},
		{"not installed", uninstalled, "installation warn: not installed", Warn},
		{"not installed: nodes", uninstalled, "nodes unknown: 1 of 1 nodes run Flatcar; whether", Warn},
		{"not installed: source", uninstalled, "source ok: from this machine", Warn},
		{"not installed: source unreachable", func(f *Facts) { uninstalled(f); f.SourceProblem = "no such host" }, "source warn: no such host", Warn},
		{"not installed: Ubuntu", func(f *Facts) { uninstalled(f); f.Nodes[0].Status.NodeInfo.OSImage = "Ubuntu 24.04" }, "nodes warn: w1 do not run Flatcar", Warn},
		{"a policy of an earlier version", func(f *Facts) {
			f.Policy.Name = "cluster"
			f.Policy.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: `{"apiVersion":"kubectl-upgrade.dev/v1alpha1","kind":"UpgradePolicy","spec":{"hooks":[{"name":"a","onFailure":"Hold"}]}}`}
		}, "objects warn: UpgradePolicy cluster was applied as an earlier version had it, and these fields have no effect: spec.hooks[0].onFailure is now failurePolicy", Warn},
		{"kinds may not be read", func(f *Facts) { f.Kinds = nil }, "installation unknown: may not be read", OK},
		{"a kind is missing", func(f *Facts) { f.Kinds = append(f.Kinds, Kind{Name: "UpgradeRecord", Missing: true}) }, "kinds fail: does not know the kind UpgradeRecord", Fail},
		{"a field is missing", func(f *Facts) { f.Kinds[0].Lacks = []string{"spec.mode"} }, "kinds warn: NodeUpgrade lacks spec.mode", Warn},
		{"a field of a newer version is missing", func(f *Facts) { f.Kinds[0].Lacks, f.Policy.Status.CoordinatorVersion = []string{"spec.mode"}, "v0.4.0" }, "kinds warn: it is newer than this plugin", Warn},
		{"definitions may not be read", func(f *Facts) { f.Kinds[0].Unread = true }, "kinds unknown: every field that this plugin uses is not known", OK},
		{"no coordinator", func(f *Facts) { f.Coordinator = nil }, "coordinator unknown: no Deployment", OK},
		{"no leader", func(f *Facts) { f.CoordinatorProblem = "no coordinator has run yet" }, "coordinator fail: No coordinator has run yet", Fail},
		{"coordinator not Ready", func(f *Facts) { f.Coordinator.Ready = 0 }, "coordinator fail: no pod", Fail},
		{"one coordinator", func(f *Facts) { f.Coordinator.Ready = 1 }, "coordinator warn: 1 of 2", Warn},
		{"no agents", func(f *Facts) { f.Agents.Desired = 0 }, "agents fail: runs on no node", Fail},
		{"a silent agent", func(f *Facts) { f.AgentProblems = map[string]string{"w1": "no pod"} }, "agents warn: no agent runs on w1 (no pod)", Warn},
		{"no version is known", func(f *Facts) { f.Policy.Status.CoordinatorVersion, f.NodeUpgrades = "", nil }, "versions unknown: are not known: plugin v0.3.0", OK},
		{"older agents", func(f *Facts) { f.NodeUpgrades[0].Status.AgentVersion = "v0.2.0" }, "versions warn: different versions: plugin v0.3.0, coordinator v0.3.0, agents v0.2.0 (nodes: 1)", Warn},
		{"older plugin", func(f *Facts) { f.Plugin = "v0.2.0" }, "versions warn: the plugin has another version", Warn},
		{"the port is another program's", policyCondition(v1alpha1.ConditionMetricsFailed, "True"), "coordinator warn: because", Warn},
		{"other time zones", func(f *Facts) { f.Policy.Status.TimeZoneVersion = "2020a" }, "time-zones warn: the coordinator has the time zones of 2020a, and this plugin those of " + schedule.ZoneVersion(), Warn},
		{"older coordinator", func(f *Facts) { f.Policy.Status.CoordinatorVersion = "v0.2.0" }, "versions warn: different versions: plugin v0.3.0, coordinator v0.2.0", Warn},
		{"a coordinator that reports no version", func(f *Facts) { f.Policy.Status.CoordinatorVersion = "" }, "versions ok: coordinator unknown", OK},
		{"image of another tag", func(f *Facts) { f.Coordinator.Image = "localhost:5000/node-agent:dev" }, "versions ok: coordinator v0.3.0", OK},
		{"Cluster API decides on versions", func(f *Facts) {
			f.Policy.Spec.VersionsFrom = v1alpha1.VersionsFromClusterAPI
			for i := range f.Nodes {
				f.Nodes[i].Annotations = map[string]string{"cluster.x-k8s.io/machine": "m"}
			}
		}, "cluster-api ok: every node is one of its Machines", OK},
		{"no policy", func(f *Facts) { f.Policy = nil }, "policy warn: no UpgradePolicy", Warn},
		{"observed", func(f *Facts) { f.Policy.Spec.Mode = v1alpha1.ModeObserve }, "policy warn: is Observe", Warn},
		{"invalid policy", policyCondition(v1alpha1.ConditionValid, "False"), "policy fail: not valid: because", Fail},
		{"writes are refused", policyCondition(v1alpha1.ConditionWriteFailed, "True"), "policy fail: refuses a write of the coordinator: because", Fail},
		{"a policy refuses pods", func(f *Facts) { f.Writes = append(f.Writes, Write{"the agents' pods", "no hostPath"}) },
			"admission fail: would refuse the agents' pods: no hostPath", Fail},
		{"what is not refused", func(f *Facts) { f.Writes = append(f.Writes, Write{"the agents' pods", "no hostPath"}) },
			"admission ok: takes cordons, as dry runs say", Fail},
		{"nothing was tried", func(f *Facts) { f.Writes = nil }, "admission unknown: was not tried", OK},
		{"a notice is not sent", policyCondition(v1alpha1.ConditionNoticesFailed, "True"), "policy warn: notices cannot be sent: because", Warn},
		{"no source", policyCondition(v1alpha1.ConditionSourceReady, "False"), "source fail: cannot read the index of images: because", Fail},
		{"signed index", func(f *Facts) {
			f.Policy.Status.IndexSigned = &v1alpha1.IndexSignature{Time: metav1.NewTime(time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC))}
		}, "source ok: signed on 2026-11-18 12:00 UTC", OK},
		{"source not read yet", func(f *Facts) { f.Policy.Status.Conditions = nil }, "source unknown: not read", OK},
		{"the last upgrade failed", func(f *Facts) { f.LastUpgrade = ended(v1alpha1.OutcomeFailed) }, "upgrade warn: the last upgrade, v1.34.3, ended: Failed: node w1 failed", Warn},
		{"the last upgrade was rolled back", func(f *Facts) { f.LastUpgrade = ended(v1alpha1.OutcomeRolledBack) }, "upgrade warn: the last upgrade, v1.34.3, ended: RolledBack: node w1 failed", Warn},
		{"an upgrade is stalled", func(f *Facts) { f.Upgrades = []v1alpha1.ClusterUpgrade{stalled()} }, "upgrade warn: ClusterUpgrade v1.34.3 does not go on by itself: NodeFailed: node w1 failed", Warn},
		{"another one follows", func(f *Facts) {
			f.LastUpgrade, f.Upgrades = ended(v1alpha1.OutcomeFailed), []v1alpha1.ClusterUpgrade{{ObjectMeta: metav1.ObjectMeta{Name: "v1.34.4"}}}
		}, "upgrade ok: ClusterUpgrade v1.34.4 has not ended", OK},
		{"schedules may not be read", func(f *Facts) { f.Schedules = nil }, "windows unknown: may not be read", OK},
		{"no schedule", func(f *Facts) { f.Schedules = f.Schedules[:0] }, "windows warn: no MaintenanceSchedule has a window", Warn},
		{"windows of other nodes", func(f *Facts) { f.Schedules[0].Spec.NodeSelector = freeze(f.Now).Spec.NodeSelector }, "windows warn: no maintenance window of any node opens", Warn},
		{"windows that are over", func(f *Facts) {
			f.Schedules[0].Spec.MaintenanceWindows[0].EndTime = metav1.NewTime(f.Now.Add(-time.Hour))
		}, "windows warn: no maintenance window of any node opens", Warn},
		{"an invalid schedule", func(f *Facts) { f.Schedules[0].Spec.TimeZone = "Nowhere" }, "windows warn: no node begins: ", Warn},
		{"a freeze", func(f *Facts) { f.Schedules = append(f.Schedules, freeze(f.Now)) }, "windows warn: exclusion audit/x holds until 2026-11-22 13:00 UTC: the auditors are here", Warn},
		{"a freeze that is over", func(f *Facts) {
			f.Schedules = append(f.Schedules, freeze(f.Now.AddDate(0, 0, -1)))
		}, "windows ok: 1 of 1 nodes have maintenance windows", OK},
		{"the policy selects no node", func(f *Facts) { f.Policy.Spec.NodeSelector = freeze(f.Now).Spec.NodeSelector }, "nodes warn: the nodeSelector of UpgradePolicy cluster matches no node", Warn},
		{"a right is missing", func(f *Facts) { f.Rights[1].Allowed = false }, "rights warn: you may not request upgrades (create clusterupgrades)", Warn},
		{"a right to see is missing", func(f *Facts) { f.Rights[0].Allowed = false }, "rights warn: what depends on it is not known", Warn},
		{"no Nodes", func(f *Facts) { f.Nodes = nil }, "nodes unknown: may not be read", OK},
		{"a node without the image", func(f *Facts) {
			f.NodeUpgrades[0].Status.ImageProblem = &v1alpha1.Problem{Reason: v1alpha1.NoSysextImage, Message: "kubelet is 100% in /opt"}
		}, "nodes warn: no upgrade changes the version of w1 (kubelet is 100% in /opt)", Fail},
		{"a Windows node", func(f *Facts) {
			n := *f.Nodes[0].DeepCopy()
			n.Name, n.Status.NodeInfo.OperatingSystem = "win", "windows"
			f.Nodes = append(f.Nodes, n)
		}, "nodes warn: win do not run Linux", Warn},
		{"a node is not Ready", func(f *Facts) { f.Nodes[0].Status.Conditions = nil }, "nodes warn: w1 are not Ready", Warn},
		{"the API server's clock", func(f *Facts) { f.Clock = &hour }, "clock warn: 1h0m0s ahead of this machine", Warn},
		{"a node's clock", func(f *Facts) { f.NodeClocks["w1"] = -time.Minute }, "clock warn: w1 (1m0s behind)", Warn},
		{"no clocks", func(f *Facts) { f.NodeClocks, f.Clock = nil, nil }, "clock unknown: nodes' clocks are not known", OK},
		{"nothing is active", func(*Facts) {}, "checks ok: the checks that need no version find no problem", OK},
		{"an upgrade to a version is active", func(f *Facts) { f.CheckedVersion = "v1.34.4" }, "checks ok: no check of docs/checks.md finds a problem", OK},
		{"not installed: checks", uninstalled, "checks ok: neither an agent nor a version", Warn},
		{"a check blocks", func(f *Facts) {
			f.Findings = []v1alpha1.Finding{{ID: "kured-lock", Level: v1alpha1.LevelBlock, Message: "kured holds its lock.", Advice: "Wait."}}
		}, "kured-lock fail: kured holds its lock", Fail},
		{"a check blocks a worker", func(f *Facts) {
			f.Findings = []v1alpha1.Finding{{ID: "disk", Level: v1alpha1.LevelBlock, Node: "w1", Message: "full"}}
		}, "disk warn: Full", Warn},
		{"many findings", func(f *Facts) {
			for i := range 9 {
				f.Findings = append(f.Findings, v1alpha1.Finding{ID: "pdb-blocks", Level: v1alpha1.LevelWarn, Message: fmt.Sprintf("number %d", i)})
			}
		}, "pdb-blocks warn: 4 more like it", Warn},
		{"certificates are due", certificate(v1alpha1.RenewedByKubeadm, 29), "certificates warn: kubeadm can renew certificates of cp1", Warn},
		{"certificates are not due", certificate(v1alpha1.RenewedByKubeadm, 31), "policy ok: Manage", OK},
		{"certificates of another authority", certificate(v1alpha1.RenewedElsewhere, 29), "policy ok: Manage", OK},
		{"certificates are due, which the coordinator has renewed", func(f *Facts) {
			certificate(v1alpha1.RenewedByKubeadm, 29)(f)
			f.Policy.Spec.Automatic = []v1alpha1.AutomaticUpgrade{{Type: v1alpha1.TypeCertificates}}
		}, "policy ok: Manage", OK},
		{"something could not be read", func(f *Facts) { f.Unread = []string{"Webhooks could not be read."} }, "unread unknown: Webhooks could not be read", OK},
	} {
		f := good()
		test.change(&f)
		d := Check(f)
		if d.Verdict != test.verdict {
			t.Errorf("%s: verdict %s, want %s", test.name, d.Verdict, test.verdict)
		}
		found := false
		head, part, _ := strings.Cut(test.want, ": ")
		for _, line := range d.Checks {
			if strings.HasPrefix(line.Fix, "Kubectl") {
				t.Errorf("%s: the fix %q begins with a command, and a sentence with a capital letter", line.Check, line.Fix)
			}
			found = found || line.Check+" "+string(line.Level) == head && strings.Contains(strings.ToLower(line.Message), strings.ToLower(part))
			if line.Level != OK && line.Fix == "" && line.Check != "clock" && len(f.Findings) == 0 {
				t.Errorf("%s: there is no fix: %+v", test.name, line)
			}
		}
		if !found {
			t.Errorf("%s: no line %q: %+v", test.name, test.want, d.Checks)
		}
	}
}

// TestNoSecrets plants passwords and tokens in every text that is printed.
func TestNoSecrets(t *testing.T) {
	const planted = "hunter2hunter2"
	for _, text := range []string{
		"reading https://me:" + planted + "@mirror.example/SHA256SUMS: refused",
		"GET https://mirror.example/SHA256SUMS?sig=" + planted + "&x=1: 403",
		`header "Authorization: Bearer ` + planted + `"`,
		"token=" + planted, "password: " + planted, `{"token":"` + planted + `"}`, "--api-key " + planted,
	} {
		f := good()
		f.Policy.Spec.Source.URL = "https://me:" + planted + "@mirror.example/k/"
		f.Policy.Spec.Source.Keyring = planted
		f.Policy.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": planted}
		f.Policy.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSourceReady, Status: "False", Message: text}}
		f.Nodes[0].Annotations = map[string]string{"secret": planted}
		f.NodeUpgrades[0].Status.KubeadmLog, f.NodeUpgrades[0].Status.KubeletLog = planted, planted
		f.NodeUpgrades[0].Status.ImageProblem = &v1alpha1.Problem{Reason: v1alpha1.NoSysextImage, Message: text}
		f.Unread, f.SourceProblem, f.CoordinatorProblem = []string{text}, text, text
		f.AgentProblems = map[string]string{"w1": text}
		f.LastUpgrade = ended(v1alpha1.OutcomeFailed)
		f.LastUpgrade.Status.Conditions[0].Message = text
		f.Schedules = append(f.Schedules, freeze(f.Now))
		f.Schedules[1].Spec.MaintenanceExclusions[0].Comment = text
		f.Findings = []v1alpha1.Finding{{ID: "kured", Message: text, Advice: text}}
		printed, err := json.Marshal(Check(f))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(printed), planted) {
			t.Errorf("%s: it is printed: %s", text, printed)
		}
	}
	for _, harmless := range []string{"Reading https://mirror.example/SHA256SUMS: refused", "Synchronize the clock: timedatectl status"} {
		if got := redact(harmless); got != harmless {
			t.Errorf("%q became %q", harmless, got)
		}
	}
}

// TestLacks compares Go types with schemas.
func TestLacks(t *testing.T) {
	schema := map[string]any{"properties": map[string]any{
		"apiVersion": map[string]any{}, "kind": map[string]any{},
		"status": map[string]any{"properties": map[string]any{}},
		"spec": map[string]any{"properties": map[string]any{
			"maintenanceWindows":    map[string]any{"items": map[string]any{"properties": map[string]any{"name": map[string]any{}, "startTime": map[string]any{}, "endTime": map[string]any{}}}},
			"maintenanceExclusions": map[string]any{}, "nodeSelector": map[string]any{},
		}},
	}}
	got := strings.Join(Lacks(reflect.TypeFor[v1alpha1.MaintenanceSchedule](), schema), " ")
	for _, want := range []string{"spec.timeZone", "spec.maintenanceWindows.recurrence", "status.state", "spec.maintenanceExclusions.comment"} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %s: not %s", got, want)
		}
	}
	if strings.Contains(got, "startTime ") && !strings.Contains(got, "Exclusions.startTime") || strings.Contains(got, "metadata") {
		t.Errorf("lacks %s", got)
	}
}
