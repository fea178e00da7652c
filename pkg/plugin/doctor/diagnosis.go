package doctor

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Level of a line.
type Level string

// The levels.
const (
	OK      Level = "ok"
	Unknown Level = "unknown" // it cannot be known without a right, or before the installation
	Warn    Level = "warn"    // it works, and a person should know
	Fail    Level = "fail"    // no node can be upgraded
)

// Line is the answer to one question.
type Line struct {
	Check   string `json:"check"`
	Level   Level  `json:"level"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
}

// Diagnosis is what `kubectl upgrade doctor -o yaml` prints.
type Diagnosis struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Time       time.Time `json:"time"`
	// Verdict is the worst level: ok, warn or fail.
	Verdict Level     `json:"verdict"`
	Cluster Cluster   `json:"cluster"`
	Checks  []Line    `json:"checks"`
	Nodes   []Machine `json:"nodes"`
}

// Cluster is which versions run where.
type Cluster struct {
	Plugin      string         `json:"plugin"`
	APIServer   string         `json:"apiServer,omitempty"`
	Coordinator string         `json:"coordinator,omitempty"`
	Agents      map[string]int `json:"agents,omitempty"` // nodes by the version of their agents
	Mode        string         `json:"mode,omitempty"`
	Source      string         `json:"source,omitempty"`
}

// Machine counts nodes that are alike.
type Machine struct {
	Count            int    `json:"count"`
	Role             string `json:"role"`
	Kubelet          string `json:"kubelet"`
	OS               string `json:"os"`
	Kernel           string `json:"kernel"`
	Architecture     string `json:"architecture"`
	ContainerRuntime string `json:"containerRuntime"`
}

// Check returns the diagnosis.
func Check(f Facts) Diagnosis {
	d := Diagnosis{APIVersion: "kubectl-upgrade.dev/v1alpha1", Kind: "UpgradeDiagnosis", Time: f.Now.UTC().Truncate(time.Second), Verdict: OK, Cluster: f.cluster(), Nodes: f.machines()}
	for _, check := range []func(Facts) []Line{
		apiServer, installation, kinds, coordinator, agents, versions, policy, imageSource, rights, nodes, clocks, findings, unread,
	} {
		for _, line := range check(f) {
			line.Message, line.Fix = redact(sentence(line.Message)), redact(sentence(line.Fix))
			d.Checks = append(d.Checks, line)
		}
	}
	for _, line := range d.Checks {
		if rank(line.Level) > rank(d.Verdict) && line.Level != Unknown {
			d.Verdict = line.Level
		}
	}
	return d
}

func rank(l Level) int { return slices.Index([]Level{OK, Unknown, Warn, Fail}, l) }

// sentence returns the text with a capital first letter and no stop at the end.
func sentence(text string) string {
	text = strings.TrimSuffix(text, ".")
	first, _, _ := strings.Cut(text, " ")
	if text == "" || strings.ContainsAny(first, "-./") || first == "kured" {
		return text
	}
	return string(unicode.ToUpper(rune(text[0]))) + text[1:]
}

func (f Facts) cluster() Cluster {
	c := Cluster{Plugin: f.Plugin, APIServer: f.Server, Coordinator: f.coordinatorVersion()}
	for _, n := range f.NodeUpgrades {
		if v := n.Status.AgentVersion; v != "" {
			if c.Agents == nil {
				c.Agents = map[string]int{}
			}
			c.Agents[v]++
		}
	}
	if f.Policy != nil {
		c.Mode, c.Source = string(f.Policy.Spec.Mode), redact(f.Policy.Spec.Source.URL)
	}
	return c
}

// machines counts the nodes, the most frequent first.
func (f Facts) machines() []Machine {
	counts := map[Machine]int{}
	for _, n := range f.Nodes {
		info, role := n.Status.NodeInfo, "worker"
		if _, is := n.Labels["node-role.kubernetes.io/control-plane"]; is {
			role = "control-plane"
		}
		counts[Machine{0, role, info.KubeletVersion, info.OSImage, info.KernelVersion, info.Architecture, info.ContainerRuntimeVersion}]++
	}
	machines := []Machine{}
	for m, count := range counts {
		m.Count = count
		machines = append(machines, m)
	}
	slices.SortFunc(machines, func(a, b Machine) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Role, b.Role), cmp.Compare(a.Kubelet, b.Kubelet), cmp.Compare(a.OS, b.OS), cmp.Compare(a.Kernel, b.Kernel), cmp.Compare(a.Architecture, b.Architecture), cmp.Compare(a.ContainerRuntime, b.ContainerRuntime))
	})
	return machines
}
