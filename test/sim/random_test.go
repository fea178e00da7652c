package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// kinds of faults, each with how often it is chosen.
var kinds = []struct {
	kind   string
	weight int
}{
	{"hold", 4}, {"abandon", 3}, {"recordon", 3}, {"clock", 4}, {"joined later", 1}, {"image vanishes", 2}, {"kubeadm record lost", 2}, {"os update", 2},
	{"publish", 2}, {"request patch", 3}, {"request reboot", 3}, {"retry", 3}, {"join", 2}, {"budget", 2},
	{"crash agent", 8}, {"crash coordinator", 6}, {"stop coordinator", 5}, {"lose reply", 4}, {"stall", 6}, {"miss", 4},
	{"interleave", 10}, {"second coordinator", 4}, {"power cut", 4}, {"partition", 4}, {"api down", 2},
	{"delete lease", 3}, {"clear lease", 2}, {"garble lease", 1}, {"unlabel lease", 1},
	{"delete nodeupgrade", 2}, {"delete upgrade", 1}, {"recreate upgrade", 4}, {"replace node", 2}, {"delete node", 1},
	{"cordon", 5}, {"uncordon", 3}, {"close window", 6}, {"freeze", 5}, {"invalid schedule", 1}, {"suspend", 2},
	{"verb fails", 4}, {"drain blocked", 8}, {"forge mark", 3}, {"forge snapshot", 3}, {"republish", 1},
	{"finding", 1}, {"manual reboot", 2},
}

var kindList = func() (list []string) {
	for _, k := range kinds {
		for range k.weight {
			list = append(list, k.kind)
		}
	}
	return list
}()

var verbs = []string{"stage", "pull", "snapshot", "kubeadm", "activate", "restart", "confirm", "facts"}

// early returns a random time before the end, more often an early one: nodes are upgraded
// early.
func early(random float64, end time.Duration) time.Duration {
	return time.Duration(random * random * float64(end)).Truncate(10 * time.Millisecond)
}

// newScript returns the script of a seed.
func newScript(seed uint64) script {
	r := rand.New(rand.NewPCG(seed, 1))
	pick := func(list ...int) int { return list[r.IntN(len(list))] }
	s := script{
		Seed: seed, ControlPlanes: pick(1, 1, 1, 1, 3, 3, 2), Workers: pick(0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 8),
		Budget: pick(1, 1, 2, 2, 3), MaxFailures: pick(0, 0, 0, 1, 2), Pods: pick(0, 1, 1, 2),
		From: "v1.34.3", To: "v1.34.4", Snapshot: r.IntN(2) == 0,
		Settle: pick(0, 0, 5, 20), MinReady: pick(0, 0, 25, 100), Guard: pick(60, 60, 120), Drain: pick(30, 60, 120),
		Groups: r.IntN(3) == 0, Broken: map[string]string{},
		Opens: time.Duration(pick(0, 0, 0, 60, 300)) * time.Second, Lasts: time.Duration(pick(6, 10, 15)) * time.Minute,
	}
	if s.ControlPlanes == 3 {
		s.Workers = min(s.Workers, 3)
	}
	s.Closes = s.Opens + time.Duration(pick(5, 20, 60, 60))*time.Minute
	switch r.IntN(10) {
	case 0, 1:
		s.To = "v1.35.2"
	case 2, 3:
		s.Restart = true
	case 4:
		s.Reboot = true
	case 5:
		s.SoftReboot = true
	case 6: // and a minor
		s.SoftReboot, s.To = true, "v1.35.2"
	}
	names := s.nodes()
	node := func() string { return names[r.IntN(len(names))] }
	if r.IntN(5) == 0 {
		s.Broken[node()] = []string{imageCrashes, imageNotReady, imageNoMerge, imageNoPods}[r.IntN(4)]
	}
	for range pick(0, 2, 4, 6, 8, 12, 16) {
		s.Faults = append(s.Faults, anyFault(r, s, early(r.Float64(), s.Lasts)))
	}
	for range pick(0, 0, 1, 1, 2) { // several faults at one moment
		step, after := triggers[r.IntN(len(triggers))], early(r.Float64()*r.Float64(), s.Lasts)
		for range pick(1, 2, 3, 4) {
			f := anyFault(r, s, after)
			f.Step = step
			s.Faults = append(s.Faults, f)
		}
	}
	if r.IntN(3) == 0 {
		s.Faults = append(s.Faults, anyMoment(r, s)...)
	}
	s.Faults = append(s.Faults, anySwitches(s)...)
	s.Faults = append(s.Faults, anyDeaths(s)...)
	s.Faults = append(s.Faults, slices.Concat(anyEdits(s), anyPolicyFaults(s), anyDecisions(s), anyConditions(s), anyRollbacks(s), anyParts(s))...)
	s.Always = anyAlways(s)
	anyGates(&s)
	anyHooks(&s)
	anyPolicyAgain(&s)
	anyRequests(&s)
	anyClockSteps(&s)
	anyDeadKubelet(&s)
	s.Faults = append(s.Faults, slices.Concat(anyLies(s), anyTexts(s), anyDeletions(s), anySecondRequests(s), anyUnseenCordon(s), anyLostOrder(s), anyUnseenHold(s), anyForgottenAbandonment(s), anyTouches(s))...)
	anyOwnFault(&s)
	tolerated := anyTolerated(&s)
	anyLostMajority(&s)
	anyCertificates(&s)
	slices.SortStableFunc(s.Faults, func(a, b fault) int { return int(a.At - b.At) })
	anyPeople(&s)
	s.Packages, s.Unmanaged, s.Soft = anyPackages(s), anyUnmanaged(s), anySoft(s)
	if tolerated {
		s.Packages, s.Unmanaged = nil, nil // all workers count
	}
	return s
}

// anyPackages returns random nodes whose Kubernetes comes from packages: about half of those
// of a Reboot, and few workers of an upgrade to a version, which a control plane with packages
// would hold until a person has upgraded it.
func anyPackages(s script) (names []string) {
	r, oneIn := rand.New(rand.NewPCG(s.Seed, 3)), 8
	switch {
	case s.Reboot && s.has("kubelet dies"): // which the host cannot tell there
		oneIn = 6
	case s.Reboot:
		oneIn = 2
	}
	patches := !s.Reboot || s.Automatic || s.has("request patch")
	for _, name := range s.nodes() {
		if r.IntN(oneIn) == 0 && (!patches || name[0] == 'w') {
			names = append(names, name)
		}
	}
	return names
}

// anyDeaths returns kubelets that die, for a while or until all faults are over, in about one
// story of five: mostly after their node's boot.
func anyDeaths(s script) (list []fault) {
	r := rand.New(rand.NewPCG(s.Seed, 6))
	if r.IntN(5) > 0 {
		return nil
	}
	names := s.nodes()
	for range 1 + r.IntN(2) {
		f := fault{
			At: early(r.Float64(), s.Lasts), Kind: "kubelet dies", Who: names[r.IntN(len(names))],
			For: []time.Duration{15 * time.Second, time.Minute, 5 * time.Minute, time.Hour}[r.IntN(4)],
		}
		if r.IntN(4) > 0 {
			f.Step = []v1alpha1.Step{v1alpha1.StepSettling, v1alpha1.StepSettling, v1alpha1.StepVerifying, v1alpha1.StepObserving, v1alpha1.StepDraining}[r.IntN(5)]
		}
		list = append(list, f)
	}
	return list
}

// anySoft returns what is wrong with the soft reboots of about one node of four.
func anySoft(s script) map[string]string {
	r, wrong := rand.New(rand.NewPCG(s.Seed, 5)), map[string]string{}
	for _, name := range s.nodes() {
		if r.IntN(4) == 0 {
			wrong[name] = []string{softImpossible, softNothing, softFormer}[r.IntN(3)]
		}
	}
	return wrong
}

// anyUnmanaged returns about one worker of six, and never all of them.
func anyUnmanaged(s script) (names []string) {
	r := rand.New(rand.NewPCG(s.Seed, 4))
	for _, name := range s.nodes()[s.ControlPlanes:] {
		if r.IntN(6) == 0 && len(names)+1 < s.Workers {
			names = append(names, name)
		}
	}
	return names
}

// anyMoment returns faults by which a decision of people changes while a node works, the
// node is not told, and its work takes longer: the moment for which agents have a gate.
func anyMoment(r *rand.Rand, s script) (list []fault) {
	step := triggers[r.IntN(len(triggers))]
	for _, kinds := range [][]string{
		{"close window", "close window", "freeze", "invalid schedule", "delete upgrade", "recreate upgrade", "suspend", "suspend"},
		{"stop coordinator", "stop coordinator", "stall"},
		{"drain blocked", "drain blocked", "verb fails", "crash agent", "power cut"},
		{"clock", "clock", "hold", "recordon"},
	} {
		f := anyFault(r, s, 0)
		f.Kind, f.Other, f.Step, f.For = kinds[r.IntN(len(kinds))], "", step, time.Duration(60+r.IntN(120))*time.Second
		switch f.Who = s.nodes()[0]; f.Kind {
		case "stall", "crash agent":
			f.Who, f.After = "agent "+f.Who, true
		case "stop coordinator":
			f.Who = "coordinator"
		case "verb fails":
			f.Other = verbs[r.IntN(len(verbs))]
		}
		list = append(list, f)
	}
	return list
}

// triggers are steps at which faults are injected.
var triggers = []v1alpha1.Step{
	v1alpha1.StepWaiting, v1alpha1.StepLocking, v1alpha1.StepSnapshotting, v1alpha1.StepKubeadm, v1alpha1.StepCordoning, v1alpha1.StepDraining,
	v1alpha1.StepDraining, v1alpha1.StepLastCheck, v1alpha1.StepActivating, v1alpha1.StepRebooting, v1alpha1.StepVerifying, v1alpha1.StepSettling,
	v1alpha1.StepUncordoning, v1alpha1.StepUnlocking, v1alpha1.StepAborting, v1alpha1.StepFailed,
}

// anyFault returns a random fault at that time.
func anyFault(r *rand.Rand, s script, at time.Duration) fault {
	pick := func(list ...int) int { return list[r.IntN(len(list))] }
	names := s.nodes()
	node := func() string { return names[r.IntN(len(names))] }
	program := func() string {
		if r.IntN(3) == 0 {
			return "coordinator"
		}
		return "agent " + node()
	}
	f := fault{
		At:   at,
		Kind: kindList[r.IntN(len(kindList))], Who: node(), Number: r.IntN(12), After: r.IntN(2) == 0,
		For: time.Duration(pick(2, 10, 30, 90, 300)) * time.Second,
	}
	switch f.Kind {
	case "crash agent":
		f.Who = "agent " + f.Who
	case "crash coordinator", "stop coordinator":
		f.Who = "coordinator"
	case "lose reply", "stall", "miss", "interleave":
		f.Who = program()
		f.Other = program()
	case "verb fails":
		f.Other, f.Number = verbs[r.IntN(len(verbs))], 1+r.IntN(2)
	case "forge snapshot":
		if i := r.IntN(max(1, s.Workers)); s.Workers > 0 {
			f.Who = fmt.Sprintf("w%d", 1+i)
		}
	}
	return f
}
