package sim

import (
	"cmp"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Texts from outside that do not fit where they are written: what programs take over of them has to be cut
// where it is read. checkRefused sees what was not. Agents' own texts are among their lies.

// oddTexts are such texts.
var oddTexts = []string{
	strings.Repeat("ü", 40000),
	"v1.34.3+" + strings.Repeat("x", 300),
	"a\x01b\nc$(reboot)`reboot`;" + strings.Repeat("x", 1000) + "ü",
	"  ", "-", "v1.34.3 is what I am",
}

// anyTexts returns kubelets that say odd versions, and Jobs that fail with odd messages, in one seed of eight.
func anyTexts(s script) (list []fault) {
	r := rand.New(rand.NewPCG(s.Seed, 16))
	if r.IntN(8) > 0 {
		return nil
	}
	names := s.nodes()
	for range 1 + r.IntN(2) {
		f := fault{
			At: early(r.Float64(), s.Lasts), Kind: "odd kubelet", Who: names[r.IntN(len(names))], Number: r.IntN(len(oddTexts)),
			For: time.Duration(20+r.IntN(300)) * time.Second,
		}
		if r.IntN(2) == 0 {
			f.Step = triggers[r.IntN(len(triggers))]
		}
		list = append(list, f)
	}
	if s.Hooks {
		list = append(list, fault{At: time.Second, Kind: "odd jobs", Number: r.IntN(len(oddTexts)), For: s.Lasts})
		for range 3 {
			list = append(list, fault{At: early(r.Float64(), s.Lasts), Kind: "job fails", Who: []string{setHook, clearHook}[r.IntN(2)]})
		}
	}
	return list
}

// injectText has a kubelet say, or Jobs fail with, an odd text.
func (w *world) injectText(f fault) {
	odd := oddTexts[f.Number%len(oddTexts)]
	if f.Kind == "odd jobs" {
		w.jobsSay = odd
		w.until(f, func() { w.jobsSay = "" })
		return
	}
	n := w.node(f.Who)
	if n == nil {
		return
	}
	n.says = odd
	w.report(n)
	w.until(f, func() { w.endText(n) })
}

func (w *world) endText(n *node) {
	if n.says != "" {
		n.says = ""
		w.report(n)
	}
}

// failedJob returns the message of a Job that has failed.
func (w *world) failedJob() string { return cmp.Or(w.jobsSay, "simulated") }

// deletedIn are the steps in which a node, or its NodeUpgrade, is deleted: all of them.
func deletedIn(r *rand.Rand) v1alpha1.Step { return v1alpha1.Steps[r.IntN(len(v1alpha1.Steps))].Step }

// anyDeletions returns Nodes and NodeUpgrades that are deleted in a step of the node, in one seed of six.
func anyDeletions(s script) (list []fault) {
	r := rand.New(rand.NewPCG(s.Seed, 17))
	if r.IntN(6) > 0 {
		return nil
	}
	names := s.nodes()
	for range 1 + r.IntN(3) {
		list = append(list, fault{
			At: early(r.Float64()*r.Float64(), s.Lasts), Kind: []string{"delete nodeupgrade", "delete nodeupgrade", "replace node", "delete node"}[r.IntN(4)],
			Who: names[r.IntN(len(names))], Step: deletedIn(r), Number: r.IntN(12), For: time.Duration(4+r.IntN(120)) * time.Second,
		})
	}
	return list
}
