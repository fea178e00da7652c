package host

import "strings"

// Verb is one kind of work on the node.
type Verb string

// The verbs.
const (
	VerbFacts    Verb = "facts"    // what there is: output Facts
	VerbDisarm   Verb = "disarm"   // package sysupdate: no arguments, DisarmOutput
	VerbStage    Verb = "stage"    // package sysupdate: StageArgs, StageOutput
	VerbKubeadm  Verb = "kubeadm"  // package kubeadm: UpgradeArgs, UpgradeOutput
	VerbActivate Verb = "activate" // package sysupdate: ActivateArgs, ActivateOutput
	VerbRestart  Verb = "restart"  // package sysext: RestartArgs, RestartOutput
	VerbPull     Verb = "pull"     // package kubeadm: PullArgs, PullOutput
	VerbSnapshot Verb = "snapshot" // package etcd: SnapshotArgs, SnapshotOutput
	VerbEtcd     Verb = "etcd"     // package etcd: no arguments, HealthOutput
)

// Verbs are all of them.
var Verbs = []Verb{VerbFacts, VerbDisarm, VerbStage, VerbKubeadm, VerbActivate, VerbRestart, VerbPull, VerbSnapshot, VerbEtcd}

const (
	unitPrefix = "kubectl-upgrade-"
	unitSuffix = ".service"
)

// Unit is the name of the systemd unit that runs the verb.
func (v Verb) Unit() string { return unitPrefix + string(v) + unitSuffix }

// verbOf is the verb that a unit runs, or false for a unit of others.
func verbOf(unit string) (Verb, bool) {
	name, ok := strings.CutPrefix(unit, unitPrefix)
	if !ok {
		return "", false
	}
	name, ok = strings.CutSuffix(name, unitSuffix)
	if !ok {
		return "", false
	}
	for _, v := range Verbs {
		if string(v) == name {
			return v, true
		}
	}
	return "", false
}
