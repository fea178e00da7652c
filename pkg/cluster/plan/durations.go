package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// The durations that are assumed until enough nodes were measured. A real machine takes
// a few minutes to boot, and as long to evict its pods.
const (
	defaultStaging    = 2 * time.Minute
	defaultComponents = 3 * time.Minute
	defaultNode       = 5 * time.Minute
	defaultSoftReboot = 3 * time.Minute // no firmware, and no kernel
	defaultRestart    = time.Minute
)

// durations are how long each part is expected to take: the median of what this
// cluster's nodes took, so that one node that hung does not count. A pass lasts from
// taking the slot to freeing it, without settling and observing, whose lengths the pace
// sets.
type durations [parts]time.Duration

// newDurations returns the measured durations: from this upgrade's nodes; where these
// are too few, from earlier upgrades; where these are too few, the defaults.
func newDurations(own, before samples) (d durations) {
	find := func(p part, assumed time.Duration) {
		d[p] = median(own.took[p], median(before.took[p], assumed))
	}
	find(staging, defaultStaging)
	find(components, defaultComponents)
	find(restart, defaultRestart)
	find(softReboot, defaultSoftReboot)
	find(controlPlane, defaultNode)
	find(worker, d[controlPlane])
	find(controlPlane, max(d[worker], defaultNode))
	return d
}

// minSamples is how many measurements replace the default. With fewer, one first node
// that hung would keep all others out of every shorter window.
const minSamples = 3

// median returns the median, or that without the shortest if it is longer: one node may lie, and must not make
// others seem to need less time. Of two nodes the slower one counts, which is never less than an honest one took.
func median(measured []time.Duration, assumed time.Duration) time.Duration {
	slices.Sort(measured)
	middle := func(of []time.Duration) time.Duration {
		for len(of) < minSamples {
			of = append(of, assumed)
		}
		slices.Sort(of)
		return of[len(of)/2]
	}
	all := middle(slices.Clone(measured))
	if len(measured) < minSamples {
		return all
	}
	return max(all, middle(slices.Clone(measured[1:])))
}

// expected returns how long the node is expected to take for that part.
func (c *cluster) expected(n *node, p part) time.Duration {
	took := c.durations[p]
	if p != components {
		pace := &c.groups[n.group].pace
		took += clusterstate.Seconds(pace.SettleSeconds) + clusterstate.Seconds(pace.MinReadySeconds)
	}
	return (took + rounding - 1).Truncate(rounding)
}

// expectedDuration returns how long the node is expected to take if it is released now.
func (s *survey) expectedDuration(n *node) time.Duration {
	if s.cluster.target.inOneTurn(n) {
		return s.cluster.expected(n, components) + s.cluster.expected(n, n.nextPart(false))
	}
	return s.cluster.expected(n, n.nextPart(n.ControlPlane && s.pass1))
}

// nextPart returns the part that the node goes through when it is released.
func (n *node) nextPart(pass1 bool) part {
	switch {
	case pass1:
		return components
	case n.method == v1alpha1.MethodRestart:
		return restart
	case n.method == v1alpha1.MethodSoftReboot:
		return softReboot
	}
	return nodePart(n.ControlPlane)
}

// rounding is what an expected duration is rounded up to. The agent compares with the
// rounded value in its NodeUpgrade, which is not rewritten for each second by which a
// measurement differs.
const rounding = 10 * time.Second

// part is a measured part of a node's upgrade.
type part int

const (
	staging part = iota
	components
	controlPlane
	worker
	restart
	softReboot
	parts
)

// samples are the measured durations of each part.
type samples struct {
	took            [parts][]time.Duration
	nodes, upgrades [parts]map[string]bool // that were measured: names, and UIDs
}

func (s *samples) add(p part, node, upgrade string, took time.Duration) {
	s.took[p] = append(s.took[p], took)
	if s.nodes[p] == nil {
		s.nodes[p], s.upgrades[p] = map[string]bool{}, map[string]bool{}
	}
	s.nodes[p][node], s.upgrades[p][upgrade] = true, true
}

// maxSamples is how many workers are measured: more would not change the median much.
const maxSamples = 500

// measure returns how long the nodes took. That is in this upgrade only: an agent clears
// its recorded steps when another upgrade begins. The nodes are in upgrade order, control
// planes first.
func measure(nodes []*node) samples {
	var all samples
	for _, n := range nodes {
		if len(all.took[worker])+len(all.took[restart])+len(all.took[softReboot]) >= maxSamples {
			break
		}
		if n.status.Upgrade == nil {
			continue
		}
		if took := stagingTook(n.status.Steps); took > 0 {
			all.add(staging, n.Name, n.status.Upgrade.UID, took)
		}
		// Each node counts once, however often it went through a part.
		last := map[part]time.Duration{}
		for _, s := range n.passes() {
			last[s.part] = s.took
		}
		for p, took := range last {
			all.add(p, n.Name, n.status.Upgrade.UID, took)
		}
	}
	return all
}

// stagingTook returns how long it took to stage the image and to pull what kubeadm needs; zero: neither is done.
func stagingTook(steps []v1alpha1.StepTime) (took time.Duration) {
	for _, step := range steps {
		if step.Step == v1alpha1.StepStaging && step.EndTime != nil {
			took += max(0, step.EndTime.Sub(step.StartTime.Time))
		}
	}
	return took
}

// sample is how long one node took for one pass.
type sample struct {
	part part
	took time.Duration
}

// passes returns the passes that the node completed. An aborted attempt is not
// measured.
func (n *node) passes() []sample {
	var done []sample
	var began time.Time
	var settled time.Duration
	full := nodePart(n.labelled)
	pass := full
	for _, step := range n.status.Steps {
		if step.EndTime == nil {
			break
		}
		switch step.Step {
		case v1alpha1.StepLocking:
			began, settled, pass = step.StartTime.Time, 0, full
		case v1alpha1.StepChecking:
			if n.labelled {
				pass = components
			}
		case v1alpha1.StepRestarting:
			pass = restart
		case v1alpha1.StepRebooting: // also after a restart that turned out to need a reboot
			if pass = full; n.status.Method == v1alpha1.MethodSoftReboot {
				pass = softReboot
			}
		case v1alpha1.StepSettling, v1alpha1.StepObserving:
			settled += step.EndTime.Sub(step.StartTime.Time)
		case v1alpha1.StepAborting, v1alpha1.StepFailed, v1alpha1.StepRolledBack:
			began = time.Time{}
		case v1alpha1.StepUnlocking:
			if took := step.EndTime.Sub(began) - settled; !began.IsZero() && took > 0 {
				done = append(done, sample{pass, took})
			}
			began = time.Time{}
		}
	}
	return done
}

// nodePart returns the part that is pass 2 of a rebooting node.
func nodePart(isControlPlane bool) part {
	if isControlPlane {
		return controlPlane
	}
	return worker
}

// maxUpgrades is how many earlier upgrades the planner takes durations from: in a small
// cluster one upgrade has too few samples.
const maxUpgrades = 10

// recordedSamples returns how long nodes took in earlier upgrades, from their records:
// for each part, from the newest upgrades that together have minSamples. Of a worker only the newest
// short time counts, or it would be several nodes in a small cluster.
func recordedSamples(records []v1alpha1.UpgradeRecord, nodes []clusterstate.Node) samples {
	isControlPlane := map[string]bool{}
	for i := range nodes {
		if nodes[i].ControlPlane {
			isControlPlane[nodes[i].Name] = true
		}
	}
	var all samples
	counted := [parts]map[string]bool{}
	for p := range counted {
		counted[p] = map[string]bool{}
	}
	for _, pieces := range lastSucceeded(records) {
		for p, measured := range samplesOf(pieces, isControlPlane) {
			if len(all.took[p]) >= minSamples {
				continue
			}
			for _, one := range measured {
				if again := counted[p][one.node]; !again || isControlPlane[one.node] || one.took > defaultNode {
					all.add(part(p), one.node, pieces[0].Spec.Upgrade.UID, one.took)
				}
				counted[p][one.node] = true
			}
		}
	}
	return all
}

// lastSucceeded returns the records of the last few upgrades that succeeded, the newest
// first, each with its pieces in their order.
func lastSucceeded(records []v1alpha1.UpgradeRecord) [][]*v1alpha1.UpgradeRecord {
	var all []*v1alpha1.UpgradeRecord
	for i := range records {
		if records[i].Spec.Outcome == v1alpha1.OutcomeSucceeded {
			all = append(all, &records[i])
		}
	}
	slices.SortFunc(all, func(a, b *v1alpha1.UpgradeRecord) int {
		return cmp.Or(
			b.Spec.EndTime.Compare(a.Spec.EndTime.Time),
			cmp.Compare(a.Spec.Upgrade.UID, b.Spec.Upgrade.UID),
			cmp.Compare(a.Spec.Piece, b.Spec.Piece),
		)
	})
	var upgrades [][]*v1alpha1.UpgradeRecord
	for i, record := range all {
		if i == 0 || record.Spec.Upgrade.UID != all[i-1].Spec.Upgrade.UID {
			upgrades = append(upgrades, nil)
		}
		last := len(upgrades) - 1
		upgrades[last] = append(upgrades[last], record)
	}
	return upgrades[:min(len(upgrades), maxUpgrades)]
}

// recorded is how long a node took by a record.
type recorded struct {
	node string
	took time.Duration
}

// samplesOf returns the durations in a record. It reads only the first maxSamples
// nodes, which include the control planes.
func samplesOf(pieces []*v1alpha1.UpgradeRecord, isControlPlane map[string]bool) (all [parts][]recorded) {
	read := 0
	for _, piece := range pieces {
		for i := range piece.Spec.Nodes {
			if read++; read > maxSamples {
				return all
			}
			r := &piece.Spec.Nodes[i]
			for _, p := range []part{staging, components, nodePart(isControlPlane[r.Name]), restart, softReboot} {
				if took := *p.durationField(r); took > 0 && (p != components || isControlPlane[r.Name]) {
					all[p] = append(all[p], recorded{r.Name, time.Duration(took) * time.Second})
				}
			}
		}
	}
	return all
}

// durationField returns the field of a record that holds the part's duration in seconds.
func (p part) durationField(r *v1alpha1.NodeRecord) *int32 {
	switch p {
	case staging:
		return &r.StagingSeconds
	case components:
		return &r.ComponentsSeconds
	case restart:
		return &r.RestartSeconds
	case softReboot:
		return &r.SoftRebootSeconds
	}
	return &r.RebootSeconds
}
