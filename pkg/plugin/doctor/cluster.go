package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

func policy(f Facts) []Line {
	if !f.Installed() {
		return nil
	}
	if f.Policy == nil {
		return []Line{{"policy", Warn, "there is no UpgradePolicy cluster, or you may not read it", "On a new installation the coordinator creates it: look whether it runs. If nodes are managed, it was deleted: create it again with the spec that it had (docs/troubleshooting.md)"}}
	}
	if status, message := condition(f.Policy, v1alpha1.ConditionValid); status == "False" {
		return []Line{{"policy", Fail, "UpgradePolicy cluster is not valid: " + message, "Correct it: kubectl edit upgradepolicy cluster"}}
	}
	if status, message := condition(f.Policy, v1alpha1.ConditionWriteFailed); status == "True" {
		return []Line{{"policy", Fail, "the API server refuses a write of the coordinator: " + message, "Look for an admission webhook that refuses it"}}
	}
	if status, message := condition(f.Policy, v1alpha1.ConditionNoticesFailed); status == "True" {
		message, _, _ = strings.Cut(message, "\n")
		return []Line{{"policy", Warn, "notices cannot be sent: " + message, "The condition NoticesFailed of UpgradePolicy cluster has what solves it: kubectl get upgradepolicy cluster -o yaml (docs/gates.md)"}}
	}
	if status, message := condition(f.Policy, v1alpha1.ConditionMetricsFailed); status == "True" {
		return []Line{{"coordinator", Warn, message, "Give the coordinator another port: --metrics-address in its Deployment and its Service's targetPort, or Helm's coordinator.metricsPort"}}
	}
	if f.Policy.Observes() {
		return []Line{{"policy", Warn, "the mode of UpgradePolicy cluster is Observe: nothing on any node is changed", "When the other lines are good: kubectl patch upgradepolicy cluster --type merge -p '{\"spec\":{\"mode\":\"Manage\"}}', or one pool first (docs/install.md)"}}
	}
	return []Line{{"policy", OK, "the mode of UpgradePolicy cluster is Manage", ""}}
}

// clusterAPI says that Cluster API decides on versions, and asks for every node. Where it does not, the
// check cluster-api finds that.
func clusterAPI(f Facts) []Line {
	without := func(n corev1.Node) bool { return n.Annotations[preflight.MachineAnnotation] == "" }
	if f.Policy == nil || f.Policy.Spec.VersionsFrom != v1alpha1.VersionsFromClusterAPI || slices.ContainsFunc(f.Nodes, without) {
		return nil
	}
	return []Line{{"cluster-api", OK, "Cluster API decides on versions, and every node is one of its Machines", ""}}
}

// imageSource says whether the index of images can be read: by the coordinator, which runs on a
// node, or before the installation from this machine.
func imageSource(f Facts) []Line {
	if f.Policy != nil {
		status, message := condition(f.Policy, v1alpha1.ConditionSourceReady)
		switch status {
		case "True":
			text := "the coordinator reads the index of images"
			if signed := f.Policy.Status.IndexSigned; signed != nil {
				text += ", which was signed on " + clusterstate.FormatTime(signed.Time.Time)
			}
			return []Line{{"source", OK, text, ""}}
		case "False":
			return []Line{{"source", Fail, "the coordinator cannot read the index of images: " + message, "Look at spec.source of UpgradePolicy cluster, and at proxy, DNS and firewall of the control-plane nodes (docs/images.md)"}}
		}
		return []Line{{"source", Unknown, "the coordinator has not read the index of images yet", "Wait a minute; then look at the coordinator's log"}}
	}
	if f.SourceProblem != "" {
		return []Line{{"source", Warn, "the index of images cannot be read from this machine: " + f.SourceProblem, "Nodes may reach it all the same. Without the internet, use a mirror (docs/images.md)"}}
	}
	return []Line{{"source", OK, "the index of images can be read from this machine; whether nodes can is known after the installation", ""}}
}

// nodes says to which nodes Kubernetes comes as a sysext image.
func nodes(f Facts) (lines []Line) {
	var windows, foreign, unsupported, notReady []string
	linux, why := 0, ""
	reported := map[string]v1alpha1.NodeUpgradeStatus{}
	for _, n := range f.NodeUpgrades {
		reported[n.Name] = n.Status
	}
	for _, n := range f.Nodes {
		status, known := reported[n.Name]
		switch {
		case cmp.Or(n.Status.NodeInfo.OperatingSystem, "linux") != "linux":
			windows = append(windows, n.Name)
			continue
		case known && status.ImageProblem != nil:
			unsupported, why = append(unsupported, n.Name), cmp.Or(why, status.ImageProblem.Message)
		case !known && !strings.Contains(n.Status.NodeInfo.OSImage, "Flatcar"):
			foreign = append(foreign, n.Name)
		}
		linux++
		if !ready(n) {
			notReady = append(notReady, n.Name)
		}
	}
	switch good := linux - len(unsupported) - len(foreign); {
	case len(f.Nodes) == 0:
		return []Line{{"nodes", Unknown, "Nodes may not be read", "Ask an administrator for the role kubectl-upgrade-view"}}
	case len(f.NodeUpgrades) == 0:
		lines = append(lines, Line{"nodes", Unknown, fmt.Sprintf("%d of %d nodes run Flatcar; whether Kubernetes comes to them as a sysext image is known after the installation", good, len(f.Nodes)), "On a node: readlink /etc/extensions/kubernetes.raw"})
	case good == 0:
		lines = append(lines, Line{"nodes", Fail, fmt.Sprintf("Kubernetes comes to none of %d nodes as a sysext image: no version can be upgraded", len(f.Nodes)), "Reboots can be coordinated. README.md says which nodes are upgraded"})
	default:
		lines = append(lines, Line{"nodes", OK, fmt.Sprintf("Kubernetes comes to %d of %d nodes as a sysext image", good, len(f.Nodes)), ""})
	}
	warn := func(names []string, message, fix string) {
		if len(names) > 0 {
			lines = append(lines, Line{"nodes", Warn, fmt.Sprintf(message, few(names)), fix})
		}
	}
	warn(unsupported, "no upgrade changes the version of %s ("+strings.ReplaceAll(why, "%", "%%")+")", "Upgrade Kubernetes there in the way it was installed; Reboots are coordinated there, too")
	warn(foreign, "%s do not run Flatcar: no version is changed there unless Kubernetes comes as a sysext image", "Leave them out with the UpgradePolicy's nodeSelector, or let kubectl-upgrade only coordinate their reboots")
	warn(windows, "%s do not run Linux: no agent runs there", "Upgrade them in another way")
	warn(notReady, "%s are not Ready", "See why: kubectl describe node")
	if len(f.managed()) == 0 {
		lines = append(lines, Line{"nodes", Warn, "the nodeSelector of UpgradePolicy cluster matches no node: nothing on any node is changed", "Correct it: kubectl edit upgradepolicy cluster"})
	}
	return lines
}

func ready(n corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// clockLimit is by how much clocks may differ: windows and time limits are computed by the
// clock of the coordinator's node, and the nodes' own.
const clockLimit = 30 * time.Second

func clocks(f Facts) (lines []Line) {
	const fix = "Synchronize the clock: timedatectl status on that machine"
	switch {
	case f.Clock == nil:
		lines = append(lines, Line{"clock", Unknown, "the API server's clock is not known", ""})
	case f.Clock.Abs() > clockLimit:
		lines = append(lines, Line{"clock", Warn, fmt.Sprintf("the API server's clock is %s of this machine's", ahead(*f.Clock)), fix})
	}
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(f.NodeClocks)) {
		if d := f.NodeClocks[name]; d.Abs() > clockLimit {
			wrong = append(wrong, fmt.Sprintf("%s (%s)", name, ahead(d)))
		}
	}
	switch {
	case len(wrong) > 0:
		return append(lines, Line{"clock", Warn, fmt.Sprintf("clocks of nodes differ from the API server's: %s", few(wrong)), fix})
	case len(f.NodeClocks) == 0:
		return append(lines, Line{"clock", Unknown, "the nodes' clocks are not known: their Leases in kube-node-lease may not be read", "Ask an administrator for that right, or run timedatectl status on the nodes"})
	case len(lines) > 0:
		return lines
	}
	return []Line{{"clock", OK, fmt.Sprintf("the clocks of this machine, of the API server and of %d nodes differ by less than %s", len(f.NodeClocks), clockLimit), ""}}
}

func ahead(d time.Duration) string {
	if d < 0 {
		return fmt.Sprintf("%s behind", (-d).Round(time.Second))
	}
	return fmt.Sprintf("%s ahead", d.Round(time.Second))
}

// findings returns a line for each finding of the checks, and one that is ok if there is none. Of
// a check that many nodes fail it returns the first few.
func findings(f Facts) (lines []Line) {
	const most = 5
	counts := map[string]int{}
	for _, found := range f.Findings {
		level := Warn
		if found.Level == v1alpha1.LevelBlock && found.Node == "" { // one with a node holds that node alone
			level = Fail
		}
		if counts[found.ID]++; counts[found.ID] <= most {
			lines = append(lines, Line{found.ID, level, found.Message, found.Advice})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[id] - most; n > 0 {
			lines = append(lines, Line{id, Warn, fmt.Sprintf("%d more like it", n), "See all of them: kubectl upgrade plan -o wide"})
		}
	}
	if len(lines) == 0 && len(f.Nodes) > 0 {
		all := "no check of docs/checks.md finds a problem, and no other program reboots nodes"
		switch {
		case !f.Installed():
			all = "the checks that need neither an agent nor a version find no problem, and no DaemonSet of kured or FLUO was found"
		case f.CheckedVersion == "":
			all = "the checks that need no version find no problem, and no other program reboots nodes; `kubectl upgrade plan VERSION` makes the others, too"
		}
		lines = []Line{{"checks", OK, all, ""}}
	}
	return lines
}

// certificates says that the coordinator could renew certificates of control planes, where one is due and it does not.
func certificates(f Facts) []Line {
	isAutomatic := func(a v1alpha1.AutomaticUpgrade) bool { return a.Type == v1alpha1.TypeCertificates }
	if f.Policy == nil || slices.ContainsFunc(f.Policy.Spec.Automatic, isAutomatic) {
		return nil
	}
	var due []string
	for _, one := range f.Inventories {
		if next, is := rules.NextRenewal(&one.NodeFacts, rules.Soon); is && !next.Due.After(f.Now) {
			due = append(due, one.Name)
		}
	}
	if len(due) == 0 {
		return nil
	}
	return []Line{{"certificates", Warn, fmt.Sprintf("kubeadm can renew certificates of %s, and the UpgradePolicy does not ask the coordinator to have it do so", few(due)),
		"Add {type: Certificates} to spec.automatic: kubectl edit upgradepolicy cluster (docs/planning.md)"}}
}

// Lacks returns the fields of a Go type of the API that a schema of OpenAPI does not have, such
// as spec.mode. Fields below one that is missing are not listed.
func Lacks(of reflect.Type, schema map[string]any) (missing []string) {
	visit(of, schema, "", &missing)
	slices.Sort(missing)
	return slices.Compact(missing)
}

func visit(of reflect.Type, schema map[string]any, path string, missing *[]string) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		if of.Kind() == reflect.Slice {
			schema, _ = schema["items"].(map[string]any)
		}
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || !strings.HasSuffix(of.PkgPath(), "/pkg/api/v1alpha1") {
		return
	}
	properties, _ := schema["properties"].(map[string]any)
	for i := range of.NumField() {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "" && field.Anonymous && strings.HasSuffix(field.Type.PkgPath(), "/pkg/api/v1alpha1"):
			visit(field.Type, schema, path, missing)
		case name == "" || name == "metadata":
		default:
			below, known := properties[name].(map[string]any)
			if !known {
				*missing = append(*missing, path+name)
				continue
			}
			visit(field.Type, below, path+name+".", missing)
		}
	}
}
