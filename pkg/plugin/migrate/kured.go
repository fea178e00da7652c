package migrate

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Kured is kured as it runs on a cluster.
type Kured struct {
	Container
	Placement
	// ScheduleName is the name of the MaintenanceSchedule.
	ScheduleName string
	// Whole puts a window over midnight on the day on which it begins, which is what people
	// usually mean. Otherwise the schedule is open exactly when kured's window is.
	Whole bool
	Now   time.Time
}

// kured is what FromKured makes from the flags.
type kured struct {
	Kured
	Result
	commandLine
}

// FromKured returns what kured's settings become.
func FromKured(in Kured) Result {
	k := &kured{Kured: in, Result: Result{Program: "kured"}, commandLine: in.kuredFlags()}
	k.Policy.Automatic = []v1alpha1.AutomaticUpgrade{{Type: v1alpha1.TypeReboot}}
	k.Rows = append(k.Rows, Row{
		Setting: "kured itself", Value: "reboots nodes that ask", Matters: true, Becomes: "automatic: [{type: Reboot}]",
		Note: "add {type: Patch} for patches of Kubernetes",
	})
	k.schedule()
	for _, flag := range kuredFlags {
		s := k.settings[flag.name]
		row := flag.row(s)
		switch {
		case s.unread != "" && flag.becomes == nil:
			row.Value, row.Set = "?", flag.meaning != NotNeeded
		case s.unread != "" && flag.anyValue:
			row.Value = "?"
			flag.becomes(k, &row, s)
		case s.unread != "":
			row.Value, row.Note = "?", fmt.Sprintf("the value is %s, and was not read", s.unread)
			row.Meaning, row.Becomes = None, ""
		case s.problem != "":
			row.Meaning, row.Becomes, row.Note = None, "", s.problem+": kured does not start with it"
		case flag.becomes != nil:
			flag.becomes(k, &row, s)
		}
		k.Rows = append(k.Rows, row)
	}
	k.builtIn()
	k.placement(k.Placement)
	for _, problem := range k.problems {
		k.Rows = append(k.Rows, Row{Setting: "command line", Value: "?", Set: true, Meaning: None, Note: problem})
	}
	for i, row := range k.Rows {
		k.Rows[i].Meaning = cmp.Or(row.Meaning, Same)
	}
	return k.Result
}

// sentinel compares the file with the one that agents read.
func (k *kured) sentinel(row *Row, s setting) {
	row.Matters = true
	file := path.Clean(s.value())
	for _, mounted := range slices.SortedFunc(maps.Keys(k.HostPaths), func(a, b string) int { return cmp.Compare(len(b), len(a)) }) {
		if rest, below := strings.CutPrefix(file, path.Clean(mounted)+"/"); below {
			file = path.Join(k.HostPaths[mounted], rest)
			break
		}
	}
	file = strings.Replace(file, "/var/run/", "/run/", 1)
	switch {
	case k.settings["reboot-sentinel-command"].value() != "":
		row.Meaning, row.Note = NotNeeded, "kured does not read it either, because of --reboot-sentinel-command"
	case file == "/run/reboot-required":
		row.Becomes, row.Note = "/run/reboot-required", "the path is fixed; update_engine's own state counts, too"
	default:
		row.Meaning, row.Becomes = Nearest, "/run/reboot-required"
		row.Note = fmt.Sprintf("the path is fixed: let what creates %s create this one", file)
	}
}

// kuredFlags reads kured's flags. Since 1.17 a variable such as KURED_START_TIME prevails
// over the flag, and adds to a list; before, the flag prevailed.
func (c Container) kuredFlags() commandLine {
	specs := make([]flagSpec, len(kuredFlags))
	for i, flag := range kuredFlags {
		specs[i] = flag.flagSpec
	}
	line := c.parse(specs, false)
	for _, spec := range specs {
		name := "KURED_" + strings.ToUpper(strings.ReplaceAll(spec.name, "-", "_"))
		v, given := c.variable(name)
		switch before := line.settings[spec.name]; {
		case !given:
		case c.flagPrevails():
			if !before.set() {
				line.change(line.flags.Lookup(spec.name), name, v.text())
			}
		case line.flags.Lookup(spec.name).Value.Type() == "stringArray":
			line.problems = append(line.problems, fmt.Sprintf("%s has no effect: kured reads no variable for this flag", name))
		default:
			line.change(line.flags.Lookup(spec.name), name, v.text())
		}
	}
	return line
}

// flagPrevails reports whether the image is of kured 1.16 or older.
func (c Container) flagPrevails() bool {
	image, _, _ := strings.Cut(path.Base(c.Image), "@")
	_, tag, _ := strings.Cut(image, ":")
	v, err := version.Parse(strings.TrimPrefix(tag, "v"))
	return err == nil && v.Major == 1 && v.Minor < 17
}

// location returns the zone of kured's clock. Local is the container's, and that is UTC
// without the variable TZ.
func (k *kured) location() (*time.Location, error) {
	name := k.settings["time-zone"].value()
	if name == "Local" {
		tz, _ := k.variable("TZ")
		name = tz.Value
	}
	in, err := schedule.Zone(name)
	if err != nil {
		return nil, fmt.Errorf("%q is no time zone", name)
	}
	return in, nil
}

// mostRules is the API's limit for drain rules.
const mostRules = 8

func (k *kured) blockingPods(row *Row, s setting) {
	if len(s.values) == 0 {
		row.Meaning = NotNeeded
		return
	}
	row.Meaning, row.Becomes = Nearest, "strategy.drain.rules with behavior: WaitCompleted"
	row.Note = "kured does not begin while such a pod is on the node. An agent cordons the node and waits in its drain until they have ended; after strategy.drain.timeoutSeconds it uncordons the node and tries again later"
	for i, value := range s.values {
		selector, err := parseSelector(value)
		switch {
		case err != nil:
			row.Meaning, row.Becomes, row.Note = None, "", fmt.Sprintf("%q is no selector of labels: kured never reboots a node", value)
			return
		case i == mostRules-2:
			row.Note = fmt.Sprintf("only the first %d: a strategy has at most %d rules", i, mostRules)
			return
		}
		k.addRule(fmt.Sprintf("kured-blocking-%d", i+1), *selector, v1alpha1.DrainWaitCompleted)
	}
}

func (k *kured) drainPods(row *Row, s setting) {
	if s.value() == "" {
		row.Meaning = NotNeeded
		return
	}
	selector, err := parseSelector(s.value())
	if err != nil {
		row.Meaning, row.Note = None, "it is no selector of labels: kured drains no node"
		return
	}
	row.Becomes = "strategy.drain.rules: Drain for these pods, Skip for all others"
	k.addRule("kured-drain", *selector, v1alpha1.DrainPod)
	k.addRule("kured-others", v1alpha1.LabelSelector{}, v1alpha1.DrainSkip)
}

func (r *Result) addRule(name string, selector v1alpha1.LabelSelector, behavior v1alpha1.DrainBehavior) {
	drain := &r.Policy.Strategy.Drain
	drain.Rules = append(drain.Rules, v1alpha1.DrainRule{Name: name, PodSelector: selector, Behavior: behavior})
}

// parseSelector reads a selector in the form of kubectl's -l.
func parseSelector(value string) (*v1alpha1.LabelSelector, error) {
	parsed, err := metav1.ParseToLabelSelector(value)
	if err != nil {
		return nil, err
	}
	return v1alpha1.NewLabelSelector(parsed), nil
}

// Placement is on which nodes a DaemonSet runs.
type Placement struct {
	NodeSelector map[string]string
	Affinity     bool
	// ControlPlane reports whether it tolerates the taint of control-plane nodes.
	ControlPlane bool
}

func (r *Result) placement(p Placement) {
	nodes := maps.Clone(p.NodeSelector)
	if nodes["kubernetes.io/os"] == "linux" { // no agent runs on others
		delete(nodes, "kubernetes.io/os")
	}
	if len(nodes) > 0 {
		selector := &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{}}
		for key, value := range nodes {
			selector.MatchLabels[key] = v1alpha1.LabelValue(value)
		}
		r.Policy.NodeSelector = selector
		r.Rows = append(r.Rows, Row{
			Setting: "nodeSelector of the pods", Value: metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: nodes}), Set: true,
			Becomes: "nodeSelector of the UpgradePolicy",
		})
	}
	if p.Affinity {
		r.Rows = append(r.Rows, Row{Setting: "affinity of the pods", Set: true, Meaning: None, Note: "write the nodeSelector of the UpgradePolicy by hand"})
	}
	if !p.ControlPlane {
		r.Rows = append(r.Rows, Row{
			Setting: "tolerations of the pods", Value: "not of control-plane nodes", Set: true, Meaning: None,
			Note: "control-plane nodes are managed like the others; the label kubectl-upgrade.dev/hold on a Node keeps it out",
		})
	}
}
