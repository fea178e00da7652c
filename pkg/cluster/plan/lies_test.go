package plan_test

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// word is what a node says of itself, or what an edited Lease says of it.
type word struct {
	fields []string // as the page names them
	// decides is what it decides for other nodes, for people. Only holds may stand there.
	decides string
	lies    []func(*lied)
}

// lied is the cluster in which node liar lies, in each plan anew.
type lied struct {
	*script
	liar   *clusterstate.Node
	status *v1alpha1.NodeUpgradeStatus
}

func lie(change func(*v1alpha1.NodeUpgradeStatus)) func(*lied) {
	return func(l *lied) { change(l.status) }
}

func steps(of ...v1alpha1.Step) func(*lied) {
	var lies []v1alpha1.StepTime
	at := time.Date(2026, 11, 18, 11, 0, 0, 0, time.UTC)
	for i, step := range of {
		end := metav1.NewMicroTime(at.Add(time.Duration(i+1) * time.Second))
		lies = append(lies, v1alpha1.StepTime{Step: step, StartTime: metav1.NewMicroTime(end.Add(-time.Second)), EndTime: &end})
	}
	return lie(func(s *v1alpha1.NodeUpgradeStatus) { s.Steps = lies })
}

func anyStepLies() (lies []func(*lied)) {
	for _, step := range append(slices.Clone(v1alpha1.Steps), v1alpha1.StepInfo{Step: ""}, v1alpha1.StepInfo{Step: "Later"}) {
		lies = append(lies, lie(func(s *v1alpha1.NodeUpgradeStatus) { s.Step, s.Upgrade = step.Step, reference("u") }))
	}
	return lies
}

func versionLies(field func(*v1alpha1.NodeUpgradeStatus) *string) (lies []func(*lied)) {
	for _, v := range []string{"", "v1.33.0", "v1.34.3", "v1.34.4", "v1.40.0", "none"} {
		lies = append(lies, lie(func(s *v1alpha1.NodeUpgradeStatus) { *field(s) = v }))
	}
	return lies
}

// causeLies are one reason for each set of flags, no condition, and a node that was given back.
func causeLies() (lies []func(*lied)) {
	seen := map[v1alpha1.ReasonInfo]bool{}
	for _, info := range v1alpha1.Reasons {
		reason := info.Reason
		if info.Reason, info.Meaning, info.Ends = "", "", ""; !seen[info] {
			lies = append(lies, lie(func(s *v1alpha1.NodeUpgradeStatus) { setCause(s, reason, "a lie") }))
		}
		seen[info] = true
	}
	return append(lies, lie(func(s *v1alpha1.NodeUpgradeStatus) { s.Conditions = nil }), lie(func(s *v1alpha1.NodeUpgradeStatus) {
		setCause(s, v1alpha1.ReasonUpToDate, "")
		s.Conditions = append(s.Conditions, metav1.Condition{Type: v1alpha1.ConditionManaged, Status: metav1.ConditionFalse})
	}))
}

// words are all that a worker's agent and kubelet say, and what edited Leases say of it. A new field of
// NodeUpgrade.status needs a row: what it decides, and its lies.
func words() []word {
	soon, later := metav1.NewTime(time.Date(2026, 11, 18, 12, 1, 0, 0, time.UTC)), metav1.NewTime(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))
	return []word{
		{[]string{"step"}, "counts towards the budget; after a failure holds all", anyStepLies()},
		{[]string{"conditions", "retry.time"}, "hold all while it retries, or cannot stage or write", append(causeLies(),
			lie(func(s *v1alpha1.NodeUpgradeStatus) { s.Retry.Time = &soon }), lie(func(s *v1alpha1.NodeUpgradeStatus) { s.Retry.Time, s.Step = &later, v1alpha1.StepWaiting }))},
		{[]string{"versions.staged", "versions.pulled"}, "hold all until the first node begins", slices.Concat(
			versionLies(func(s *v1alpha1.NodeUpgradeStatus) *string { return &s.Versions.Staged }), versionLies(func(s *v1alpha1.NodeUpgradeStatus) *string { return &s.Versions.Pulled }))},
		{[]string{"upgrade", "retry.attempts", "reboot.fromBootID"}, "hold later upgrades", []func(*lied){
			lie(func(s *v1alpha1.NodeUpgradeStatus) { s.Upgrade = reference("u") }), lie(func(s *v1alpha1.NodeUpgradeStatus) { s.Upgrade = nil }),
			lie(func(s *v1alpha1.NodeUpgradeStatus) { s.Upgrade = reference("other") }), lie(func(s *v1alpha1.NodeUpgradeStatus) { s.Retry.Attempts = 7 }),
			lie(func(s *v1alpha1.NodeUpgradeStatus) { s.Reboot.FromBootID = "former" }),
		}},
		{[]string{"steps"}, "may lengthen what others are expected to take", []func(*lied){
			steps(v1alpha1.StepLocking, v1alpha1.StepCordoning, v1alpha1.StepUnlocking), steps(v1alpha1.StepUnlocking), steps(v1alpha1.StepStaging),
			steps(v1alpha1.StepLocking, v1alpha1.StepChecking, v1alpha1.StepUnlocking), steps(v1alpha1.StepLocking, v1alpha1.StepRestarting, v1alpha1.StepUnlocking),
			steps(v1alpha1.StepLocking, v1alpha1.StepRebooting, v1alpha1.StepUnlocking, v1alpha1.StepLocking), steps(),
			func(l *lied) { // all of a turn that has ended
				l.status.Upgrade, l.status.Step, l.status.Retry.Attempts = reference("u"), v1alpha1.StepUnlocking, 1
				steps(v1alpha1.StepLocking, v1alpha1.StepKubeadm, v1alpha1.StepUnlocking)(l)
			},
			func(l *lied) {
				l.status.Upgrade, l.status.Step, l.status.Slot, l.liar.SlotAnnotation = reference("u"), v1alpha1.StepRebooting, "slot-0", "slot-0"
			},
		}},
		{[]string{"imageProblem"}, "leaves the node out", []func(*lied){lie(func(s *v1alpha1.NodeUpgradeStatus) {
			s.ImageProblem = &v1alpha1.Problem{Reason: v1alpha1.NoSysextImage, Message: "a lie"}
		})}},
		{[]string{"reboot.required", "reboot.message"}, "create an automatic Reboot, of this node", []func(*lied){
			lie(func(s *v1alpha1.NodeUpgradeStatus) { s.Reboot.Required, s.Reboot.Message = true, "a lie" }),
		}},
		{
			[]string{
				"observedGeneration", "stepStartTime", "stepEndTime", "holdEndTime", "versions.kubelet", "versions.controlPlane", "versions.kubeadm", "versions.nextBoot", "versions.from", "slot", "retry.failures", "certificatesRenewed",
				"reboot.fromSoftReboots", "method", "methodMessage", "etcdSnapshot", "attachedVolumes", "kubeadmLog", "kubeletLog", "agentVersion", "rehearsal", "partsBefore",
			}, "nothing", slices.Concat(
				versionLies(func(s *v1alpha1.NodeUpgradeStatus) *string { return &s.Versions.Kubelet }), versionLies(func(s *v1alpha1.NodeUpgradeStatus) *string { return &s.Versions.ControlPlane }),
				versionLies(func(s *v1alpha1.NodeUpgradeStatus) *string { return &s.Versions.Kubeadm }), versionLies(func(s *v1alpha1.NodeUpgradeStatus) *string { return &s.Versions.NextBoot }),
				versionLies(func(s *v1alpha1.NodeUpgradeStatus) *string { return &s.Versions.From }), []func(*lied){
					lie(func(s *v1alpha1.NodeUpgradeStatus) { s.ObservedGeneration = 99 }), lie(func(s *v1alpha1.NodeUpgradeStatus) { s.ObservedGeneration = -1 }),
					lie(func(s *v1alpha1.NodeUpgradeStatus) {
						s.StepStartTime, s.StepEndTime, s.HoldEndTime = &soon, &later, &soon
					}),
					lie(func(s *v1alpha1.NodeUpgradeStatus) {
						s.Slot, s.Retry.Failures, s.Reboot.FromSoftReboots = "slot-0", 9, 9
					}),
					lie(func(s *v1alpha1.NodeUpgradeStatus) {
						s.CertificatesRenewed = &v1alpha1.CertificatesRenewed{Upgrade: *reference("u"), Time: soon}
					}),
					lie(func(s *v1alpha1.NodeUpgradeStatus) { s.Method, s.MethodMessage = v1alpha1.MethodRestart, "a lie" }),
					lie(func(s *v1alpha1.NodeUpgradeStatus) {
						s.EtcdSnapshot = &v1alpha1.EtcdSnapshot{Node: "cp1", Path: "/a", CreationTime: soon}
					}),
					lie(func(s *v1alpha1.NodeUpgradeStatus) {
						s.Rehearsal = &v1alpha1.RehearsalOutcome{Result: v1alpha1.RehearsalPassed, Boot: v1alpha1.BootDown, Message: "a lie"}
					}),
					lie(func(s *v1alpha1.NodeUpgradeStatus) {
						s.PartsBefore = &v1alpha1.NodeParts{Drivers: []string{"a.lie"}}
					}),
					lie(func(s *v1alpha1.NodeUpgradeStatus) {
						s.AttachedVolumes, s.KubeadmLog, s.KubeletLog, s.AgentVersion = []string{"a"}, "a", "a", "v9"
					}),
				}),
		},
		{[]string{"the Node's version, state and labels"}, "budget, order; up to four versions that a Rollback blocks; another minor holds all, or names the upgrade Minor", []func(*lied){
			func(l *lied) { l.liar.Kubelet = "v1.34.4" }, func(l *lied) { l.liar.Kubelet = "v1.33.1" }, func(l *lied) { l.liar.Kubelet = "v1.34.9" }, func(l *lied) { l.liar.Kubelet = "v1.35.0" }, func(l *lied) { l.liar.Kubelet = "" },
			func(l *lied) { l.liar.Ready, l.liar.NotReadySince = false, &soon.Time }, func(l *lied) { l.liar.Ready = true }, func(l *lied) { l.liar.BootID = "another" },
			func(l *lied) {
				l.liar.Ready, l.liar.NotReadySince, l.liar.Guard = false, &soon.Time, &clusterstate.GuardReport{Upgrade: "u", Time: soon.Time, Message: "a lie"}
			},
			func(l *lied) { l.liar.SlotAnnotation = "slot-0" }, func(l *lied) { l.liar.SlotAnnotation = "slot-1" }, func(l *lied) { l.liar.Cordoned = true },
			func(l *lied) { l.liar.Architecture = "riscv64" }, func(l *lied) { l.liar.OS = "windows" }, func(l *lied) { l.liar.Labels = map[string]string{} },
		}},
		{[]string{"mirror pods, inventory"}, "hold all, by another version", []func(*lied){
			func(l *lied) {
				l.report(l.liar, []string{"kube-apiserver", "etcd"})
				l.status.Versions.Kubeadm, l.status.Versions.ControlPlane = "v1.34.4", "v1.34.4"
			},
			func(l *lied) { l.forge("v1.34.4") }, func(l *lied) { l.forge("v1.34.3") }, func(l *lied) { l.forge("v1.35.0") }, func(l *lied) { l.forge("v1.33.0") },
		}},
		{[]string{"a Lease that was edited"}, "counts towards the budget", []func(*lied){
			func(l *lied) {
				*l.slot("slot-0") = clusterstate.Slot{Name: "slot-0", ReservedFor: l.liar.Owner(), Holder: l.liar.Owner()}
			},
			func(l *lied) { l.slot("slot-0").ReservedFor = l.liar.Owner() },
			func(l *lied) {
				*l.slot("slot-7") = clusterstate.Slot{Name: "slot-7", ReservedFor: l.liar.Owner(), Holder: l.liar.Owner()}
			},
		}},
	}
}

// forge has the liar's kubelet create pods that look like a control plane's.
func (l *lied) forge(version string) {
	named := func(pod clusterstate.StaticPod) bool { return pod.Node == l.liar.Name }
	l.APIServers = append(slices.DeleteFunc(l.APIServers, named), clusterstate.StaticPod{Node: l.liar.Name, Version: version, Ready: true})
	l.Etcd = append(slices.DeleteFunc(l.Etcd, named), clusterstate.StaticPod{Node: l.liar.Name, Ready: true})
}

// lieStories are clusters in which w2 lies, or is not there. Nothing may begin, or not everything.
var lieStories = map[string]string{
	"a gate is closed":           "gate backup at=Upgrade\nanswer backup Closed too_old",
	"a gate of nodes is closed":  "gate alerts at=Node\nanswer alerts Closed firing",
	"a hook runs":                "hook prepare BeforeUpgrade timeout=3000\njobs prepare hangs",
	"a hook failed":              "hook prepare BeforeUpgrade\njobs prepare fails",
	"an image is not staged":     "hangs w3",
	"checks block":               "finding block etcd-quorum etcd_is_ill",
	"the window is short":        "schedule always 2026-01-01T00:00:00Z 2026-01-01T12:14:00Z rule=FREQ=DAILY\ntook w1 40m\ntook w3 40m\ntook w4 40m\ntook w2 40m",
	"patches are excluded":       "agent w2 step=Idle staged=v1.34.4\nschedule freeze 2026-11-18T00:00:00Z 2026-11-19T00:00:00Z exclude=Patch",
	"minors are excluded":        "remove u\nsource v1.35.1\nupgrade u v1.35.1 max=2\nagent w2 step=Idle staged=v1.35.1\nschedule freeze 2026-11-18T00:00:00Z 2026-11-19T00:00:00Z exclude=Minor",
	"the upgrade is suspended":   "set u suspend=true",
	"an approval is missing":     "upgrade v v1.34.4 approval\nremove u",
	"nothing holds":              "",
	"others go first, by groups": "upgrade v v1.34.4 groups=a,b\nremove u",
	"control planes are done":    "tick 20\ngate late at=Upgrade,Node\nanswer late Closed no",
}

// playLies plays a story, in which w2 tells this lie in each plan, or was deleted. It returns the other nodes
// that began, and the upgrades that ended.
func playLies(t *testing.T, story string, lies func(*lied), gone bool) (began map[string]bool) {
	t.Helper()
	s := &script{sim: newSim(time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC))}
	began = map[string]bool{}
	var out strings.Builder
	text := "node cp1 v1.34.3 control-plane\nnode w1 v1.34.3 pool=a\nnode w2 v1.34.3 pool=a\nnode w3 v1.34.3 pool=b\nnode w4 v1.34.3 pool=b\nsource v1.34.4\n" +
		"schedule always 2026-01-01T00:00:00Z 2026-01-02T00:00:00Z rule=FREQ=DAILY\nupgrade u v1.34.4 max=2\n" + story
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if err := s.run(&out, strings.Fields(line)); err != nil {
			t.Fatal(err)
		}
	}
	if gone {
		if err := s.run(&out, []string{"delete", "w2"}); err != nil {
			t.Fatal(err)
		}
	}
	for range 7 {
		if lies != nil {
			s.hung["w2"] = true
			w2 := s.node("w2")
			lies(&lied{s, w2, &s.nodeUpgrade("w2", w2.UID).Status})
		}
		p := s.step()
		for _, n := range p.Nodes {
			if n.Name != "w2" && n.Decision == plan.Go {
				began[n.Name] = true
			}
		}
		for _, u := range p.Statuses {
			if u.Status.Outcome != "" {
				began["the end of "+u.Name] = true
			}
		}
	}
	return began
}

// TestNoWordOfOneNodeOpens lets a worker lie in each field: nothing may begin on another node, nor end, that
// does neither begin if it tells the truth nor if it is not there.
func TestNoWordOfOneNodeOpens(t *testing.T) {
	for name, story := range lieStories {
		t.Run(name, func(t *testing.T) {
			truth, without := playLies(t, story, nil, false), playLies(t, story, nil, true)
			for _, w := range words() {
				for i, lies := range w.lies {
					for what := range playLies(t, story, lies, false) {
						if !truth[what] && !without[what] {
							t.Errorf("lie %d in %v opens %s", i, w.fields, what)
						}
					}
				}
			}
		})
	}
}

// TestEveryWordHasARow fails if NodeUpgrade.status has a field that the table lacks, and writes the table into
// docs/security.md.
func TestEveryWordHasARow(t *testing.T) {
	var rows strings.Builder
	named := map[string]bool{}
	for _, w := range words() {
		quoted := make([]string, len(w.fields))
		for i, field := range w.fields {
			named[field] = true
			if quoted[i] = field; !strings.Contains(field, " ") {
				quoted[i] = "`" + field + "`"
			}
		}
		fmt.Fprintf(&rows, "| %s | %s |\n", strings.Join(quoted, ", "), w.decides)
		if len(w.lies) == 0 {
			t.Errorf("%v has no lies", w.fields)
		}
	}
	for _, field := range statusFields(reflect.TypeFor[v1alpha1.NodeUpgradeStatus](), "") {
		if !named[field] {
			t.Errorf("status.%s has no row", field)
		}
	}
	writeTable(t, "../../../docs/security.md", "| what a node says | decides for others |\n| --- | --- |\n"+rows.String())
}

// statusFields returns the names of a struct's fields in JSON, and of those in its own structs.
func statusFields(of reflect.Type, prefix string) (names []string) {
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		if kind := of.Field(i).Type; kind.Kind() == reflect.Struct {
			names = append(names, statusFields(kind, prefix+name+".")...)
		} else {
			names = append(names, prefix+name)
		}
	}
	return names
}

// writeTable compares the page's table with this one, or writes it with -update.
func writeTable(t *testing.T, page, table string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- go test ./pkg/cluster/plan -update -->\n\n", "\n<!-- end -->"
	before, rest, found := strings.Cut(string(text), begin)
	was, after, found2 := strings.Cut(rest, end)
	switch {
	case !found || !found2:
		t.Fatalf("%s lacks the marks of the table", page)
	case was == table:
	case *update:
		if err := os.WriteFile(page, []byte(before+begin+table+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is out of date: go test ./pkg/cluster/plan -update", page)
	}
}

// TestOneNodeMakesNoOtherSeemFaster lets one node claim that each of its passes took a second, in this upgrade
// and in all earlier ones: what others are expected to take is at least what it is without that node, or what the only
// other node took.
func TestOneNodeMakesNoOtherSeemFaster(t *testing.T) {
	for _, honest := range [][]time.Duration{{}, {4 * time.Minute}, {20 * time.Minute}, {4 * time.Minute, 10 * time.Minute}, {4, 10, 12}, {4, 10, 12, 14}, {4, 10, 12, 14, 30}} {
		without := medianOf(honest, 5*time.Minute)
		if len(honest) == 1 {
			without = min(without, honest[0])
		}
		for _, claimed := range []time.Duration{1, time.Second, 7 * time.Minute, time.Hour} {
			if with := plan.Median(append(slices.Clone(honest), claimed), 5*time.Minute); with < without {
				t.Errorf("others took %v: a node that claims %s makes them %s of %s", honest, claimed, with, without)
			}
		}
	}
	usual := func(names ...string) plan.Usual {
		s := clusterstate.Snapshot{Nodes: []clusterstate.Node{{Name: "cp1", ControlPlane: true}, {Name: "w1"}, {Name: "w2"}}}
		for i := range 5 {
			end := metav1.NewTime(time.Date(2026, 11, i+1, 0, 0, 0, 0, time.UTC))
			record := v1alpha1.UpgradeRecord{Spec: v1alpha1.UpgradeRecordSpec{UpgradeSummary: v1alpha1.UpgradeSummary{Upgrade: *reference(fmt.Sprint(i)), Outcome: v1alpha1.OutcomeSucceeded, EndTime: end}}}
			for _, name := range names {
				one := v1alpha1.NodeRecord{Name: name, RebootSeconds: 1200, ComponentsSeconds: 600}
				if name == "w2" {
					one = v1alpha1.NodeRecord{Name: name, RebootSeconds: 1, ComponentsSeconds: 1, RestartSeconds: 1, SoftRebootSeconds: 1}
				}
				record.Spec.Nodes = append(record.Spec.Nodes, one)
			}
			s.Records = append(s.Records, record)
		}
		return plan.UsualDurations(s, time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))
	}
	for _, names := range [][]string{{}, {"cp1"}, {"w1"}, {"cp1", "w1"}} {
		honest, got := usual(names...), usual(append(slices.Clone(names), "w2")...)
		for _, pair := range [][2]time.Duration{
			{honest.Components, got.Components}, {honest.ControlPlane, got.ControlPlane}, {honest.Worker, got.Worker}, {honest.Restart, got.Restart}, {honest.SoftReboot, got.SoftReboot},
		} {
			if pair[1] < pair[0] {
				t.Errorf("with %v and a node that claims a second: %+v, without it %+v", names, got, honest)
			}
		}
	}
}

// medianOf returns the median of at least three, of which those that are missing are assumed.
func medianOf(took []time.Duration, assumed time.Duration) time.Duration {
	took = slices.Clone(took)
	for len(took) < 3 {
		took = append(took, assumed)
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// TestOneNodePushesNoBlockedVersionOut lets a worker say another version in each plan while a Rollback is active.
func TestOneNodePushesNoBlockedVersionOut(t *testing.T) {
	s := &script{sim: newSim(time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC))}
	var out strings.Builder
	for _, line := range strings.Split("node cp1 v1.34.4 control-plane\nnode w1 v1.34.4\nnode w2 v1.34.4\nsource v1.34.3\nupgrade back v1.34.3 type=Rollback", "\n") {
		if err := s.run(&out, strings.Fields(line)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 40 {
		s.node("w2").Kubelet = fmt.Sprintf("v1.34.%d", 5+i)
		s.step()
	}
	var list []string
	for _, one := range s.Policy.Status.TakenBack {
		list = append(list, one.Version)
	}
	if len(list) != 5 || !slices.Contains(list, "v1.34.4") {
		t.Errorf("blocked are %v, want v1.34.4, which control planes run, and four of the worker's", list)
	}
}
