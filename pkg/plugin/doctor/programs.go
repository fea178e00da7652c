package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/former"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// oldest is the oldest minor of Kubernetes whose tokens have the node's name, by which
// agents are held to their own node.
var oldest = version.Version{Major: 1, Minor: 32}

const (
	showPods = "Look at the pods: kubectl -n kubectl-upgrade get pods -o wide; and at their logs: kubectl -n kubectl-upgrade logs POD"
	install  = "docs/install.md says how"
)

func apiServer(f Facts) []Line {
	v, err := version.Parse(f.Server)
	switch {
	case f.Server == "":
		return []Line{{"api-server", Unknown, "the version of the API server could not be read", "Ask for it: kubectl version"}}
	case err != nil:
		return []Line{{"api-server", Warn, fmt.Sprintf("the API server's version %s is not a release of Kubernetes: upgrades to a version refuse it", f.Server), "Run a release of Kubernetes on the control plane"}}
	case v.Major < oldest.Major || v.Major == oldest.Major && v.Minor < oldest.Minor:
		return []Line{{"api-server", Fail, fmt.Sprintf("the API server runs %s; kubectl-upgrade needs v1.32 or later", f.Server), "Upgrade the cluster to v1.32 by hand first"}}
	}
	return []Line{{"api-server", OK, "the API server runs " + f.Server, ""}}
}

func installation(f Facts) []Line {
	switch {
	case f.Kinds == nil:
		return []Line{{"installation", Unknown, "whether kubectl-upgrade is installed may not be read", "Ask an administrator for the right to read CustomResourceDefinitions"}}
	case !f.Installed():
		return []Line{{"installation", Warn, "kubectl-upgrade is not installed: what agents report is not known, such as the layout of the sysext image, the sysupdate timer, locksmithd, disks, certificates and etcd", "Install it; it changes nothing on any node until the UpgradePolicy's mode is Manage (docs/install.md)"}}
	}
	return []Line{{"installation", OK, "kubectl-upgrade is installed", ""}}
}

func kinds(f Facts) (lines []Line) {
	if !f.Installed() {
		return nil
	}
	unread := false
	for _, k := range f.Kinds {
		unread = unread || k.Unread
		switch {
		case k.Missing:
			lines = append(lines, Line{"kinds", Fail, "the cluster does not know the kind " + k.Name, "Apply the CustomResourceDefinitions of the installed version; " + install})
		case len(k.Lacks) > 0:
			lines = append(lines, lacking(k, Skew(f.Plugin, f.coordinatorVersion())))
		}
	}
	switch {
	case len(lines) == 0 && unread:
		lines = []Line{{"kinds", Unknown, fmt.Sprintf("the cluster knows all %d kinds; whether they have every field that this plugin uses is not known", len(f.Kinds)), "Ask an administrator for the right to read CustomResourceDefinitions"}}
	case len(lines) == 0:
		lines = []Line{{"kinds", OK, fmt.Sprintf("the cluster knows all %d kinds, with every field that this plugin uses", len(f.Kinds)), ""}}
	}
	return lines
}

// lacking warns of a definition without fields that the plugin uses. skew is that of the plugin and the cluster.
func lacking(k Kind, skew string) Line {
	lacks := fmt.Sprintf("the definition of %s lacks %s: ", k.Name, strings.Join(k.Lacks, ", "))
	if strings.HasPrefix(skew, updatePlugin) {
		return Line{"kinds", Warn, lacks + "it is newer than this plugin", "Install the plugin of the cluster's version"}
	}
	return Line{"kinds", Warn, lacks + "it is older than this plugin", "Apply the CustomResourceDefinitions of the plugin's version, then the coordinator and agents of that version; " + install}
}

func coordinator(f Facts) []Line {
	w := f.Coordinator
	switch {
	case !f.Installed():
		return nil
	case w == nil:
		return []Line{{"coordinator", Unknown, "there is no Deployment of the coordinator, or it may not be read", install}}
	case f.CoordinatorProblem != "":
		return []Line{{"coordinator", Fail, f.CoordinatorProblem, "Read the log of one of them: kubectl -n kubectl-upgrade logs POD"}}
	case w.Ready == 0:
		return []Line{{"coordinator", Fail, fmt.Sprintf("no pod of Deployment %s is Ready", w.Name), showPods}}
	case w.Ready < w.Desired:
		return []Line{{"coordinator", Warn, fmt.Sprintf("%d of %d pods of Deployment %s are Ready", w.Ready, w.Desired, w.Name), showPods}}
	}
	return []Line{{"coordinator", OK, fmt.Sprintf("%d of %d pods are Ready", w.Ready, w.Desired), ""}}
}

// timeZones compares the time zone data of the plugin with the coordinator's: a window may open at another time than the
// plugin shows. Those of one version of kubectl-upgrade are the same.
func timeZones(f Facts) []Line {
	if f.Policy == nil || f.Policy.Status.TimeZoneVersion == "" || f.Policy.Status.TimeZoneVersion == schedule.ZoneVersion() {
		return nil
	}
	return []Line{{"time-zones", Warn, fmt.Sprintf("the coordinator has the time zones of %s, and this plugin those of %s: windows may open an hour earlier or later than the plugin shows",
		f.Policy.Status.TimeZoneVersion, schedule.ZoneVersion()), "Use one version of kubectl-upgrade: kubectl upgrade version"}}
}

func agents(f Facts) []Line {
	w := f.Agents
	switch silent := slices.Sorted(maps.Keys(f.AgentProblems)); {
	case !f.Installed():
		return nil
	case w == nil:
		return []Line{{"agents", Unknown, "there is no DaemonSet of the agents, or it may not be read", install}}
	case w.Desired == 0:
		return []Line{{"agents", Fail, fmt.Sprintf("DaemonSet %s runs on no node", w.Name), "Look at its nodeSelector and tolerations: kubectl -n kubectl-upgrade describe daemonset " + w.Name}}
	case len(silent) > 0:
		return []Line{{"agents", Warn, fmt.Sprintf("no agent runs on %s (%s)", few(silent), f.AgentProblems[silent[0]]), showPods}}
	case w.Ready < w.Desired:
		return []Line{{"agents", Warn, fmt.Sprintf("%d of %d agents are Ready", w.Ready, w.Desired), showPods}}
	}
	return []Line{{"agents", OK, fmt.Sprintf("%d of %d agents are Ready", w.Ready, w.Desired), ""}}
}

// versions compares the versions of plugin, coordinator and agents.
func versions(f Facts) (lines []Line) {
	if !f.Installed() {
		return nil
	}
	c := f.cluster()
	running := slices.Sorted(maps.Keys(c.Agents))
	if c.Coordinator != "" && !slices.Contains(running, c.Coordinator) {
		running = append(running, c.Coordinator)
	}
	parts := []string{"plugin " + c.Plugin, "coordinator " + orUnknown(c.Coordinator)}
	for _, v := range slices.Sorted(maps.Keys(c.Agents)) {
		parts = append(parts, fmt.Sprintf("agents %s (nodes: %d)", v, c.Agents[v]))
	}
	all := strings.Join(parts, ", ")
	switch {
	case len(running) == 0:
		return []Line{{"versions", Unknown, "the versions of coordinator and agents are not known: " + all, showPods}}
	case len(running) > 1:
		return []Line{{"versions", Warn, "coordinator and agents have different versions: " + all, "Wait until a rollout has ended (kubectl -n kubectl-upgrade rollout status daemonset/node-agent); otherwise install coordinator and agents of one version"}}
	case len(running) == 1 && running[0] != c.Plugin:
		return []Line{{"versions", Warn, "the plugin has another version than what runs: " + all, "Install the plugin of the same version"}}
	}
	return []Line{{"versions", OK, all, ""}}
}

// objects finds those that were applied with fields of an earlier version, which the API server dropped.
func objects(f Facts) (lines []Line) {
	add := func(kind string, o metav1.Object) {
		changes := former.Applied(o.GetAnnotations())
		if len(changes) == 0 {
			return
		}
		var texts []string
		for _, c := range changes {
			texts = append(texts, c.String())
		}
		lines = append(lines, Line{"objects", Warn, fmt.Sprintf("%s %s was applied as an earlier version had it, and these fields have no effect: %s", kind, o.GetName(), strings.Join(texts, "; ")),
			"Rewrite its file with `kubectl upgrade migrate objects -f FILE`, and apply it again"})
	}
	if f.Policy != nil {
		add("UpgradePolicy", f.Policy)
	}
	for i := range f.Schedules {
		add("MaintenanceSchedule", &f.Schedules[i])
	}
	for i := range f.Upgrades {
		add("ClusterUpgrade", &f.Upgrades[i])
	}
	return lines
}

func orUnknown(text string) string {
	if text == "" {
		return "unknown"
	}
	return text
}

func rights(f Facts) (lines []Line) {
	var may []string
	for _, r := range f.Rights {
		switch {
		case r.Allowed:
			may = append(may, r.For)
		case r.Needed:
			lines = append(lines, Line{"rights", Warn, fmt.Sprintf("you may not %s (%s): what depends on it is not known", r.For, r.Needs), "Ask an administrator for the role kubectl-upgrade-view (docs/commands.md)"})
		default:
			lines = append(lines, Line{"rights", Warn, fmt.Sprintf("you may not %s (%s)", r.For, r.Needs), "Ask an administrator, if you are to do that (docs/commands.md)"})
		}
	}
	if len(may) > 0 {
		lines = append([]Line{{"rights", OK, "you may " + strings.Join(may, ", "), ""}}, lines...)
	}
	return lines
}

// few returns the first names, and how many more there are.
func few(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

func unread(f Facts) (lines []Line) {
	for _, what := range f.Unread {
		lines = append(lines, Line{"unread", Unknown, what, "Run the command as a user who may read it"})
	}
	return lines
}

// condition returns the condition of that type, or an empty one.
func condition(policy *v1alpha1.UpgradePolicy, kind string) (status, message string) {
	for _, c := range policy.Status.Conditions {
		if c.Type == kind {
			return string(c.Status), c.Message
		}
	}
	return "", ""
}
