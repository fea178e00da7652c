package sim

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// lieKinds is how many lies there are of a field, at most.
const lieKinds = 24

// lies has, for each field that an agent writes in its NodeUpgrade's status, what it says there. What it says
// fits into its own NodeUpgrade.
var lies = []struct {
	field string
	as    func(w *world, n *node, which int) any
}{
	{"observedGeneration", oneOf(1e6, 0.0, -1.0)},
	{"upgrade", func(w *world, _ *node, which int) any {
		all := w.upgrades()
		if len(all) == 0 {
			return nil
		}
		u := all[which%len(all)]
		return tree{"name": u.Name, "uid": string(u.UID)}
	}},
	{"step", func(_ *world, _ *node, which int) any { return string(v1alpha1.Steps[which%len(v1alpha1.Steps)].Step) }},
	{"stepStartTime", lieTime},
	{"stepEndTime", lieTime},
	{"holdEndTime", lieTime},
	{"imageProblem", oneOf(tree{"reason": "Other", "message": "it is something else"}, tree{"reason": strings.Repeat("A", 64), "message": strings.Repeat("ü", 1024)})},
	{"versions.kubelet", lieVersion},
	{"versions.controlPlane", lieVersion},
	{"versions.kubeadm", lieVersion},
	{"versions.staged", lieVersion},
	{"versions.pulled", lieVersion},
	{"versions.nextBoot", lieVersion},
	{"versions.from", lieVersion},
	{"slot", oneOf("slot-0", "slot-1", "slot-2", nil)},
	{"retry.attempts", oneOf(0.0, 7.0, 1e6)},
	{"retry.failures", oneOf(0.0, 2.0, 1e6)},
	{"retry.time", lieTime},
	{"reboot.required", oneOf(true, nil)},
	{"reboot.message", oneOf("it has to", strings.Repeat("ü", 1024))},
	{"reboot.fromBootID", oneOf("another", nil)},
	{"reboot.fromSoftReboots", oneOf(0.0, 9.0)},
	{"certificatesRenewed", oneOf(tree{"upgrade": tree{"name": "other", "uid": "other"}, "time": "2026-11-18T12:00:00Z"}, nil)},
	{"method", oneOf("Reboot", "SoftReboot", "Restart", nil)},
	{"methodMessage", oneOf("it cannot", strings.Repeat("ü", 1024))},
	{"etcdSnapshot", func(w *world, n *node, _ int) any {
		return tree{"node": n.name, "path": "/forged", "digest": string(v1alpha1.DigestOf(digest(9))), "creationTime": w.now().UTC().Format(time.RFC3339)}
	}},
	{"attachedVolumes", func(*world, *node, int) any {
		var list []any
		for i := range 256 {
			list = append(list, fmt.Sprintf("kubernetes.io/csi/%s-%d", strings.Repeat("v", 100), i))
		}
		return list
	}},
	{"partsBefore", oneOf(tree{"drivers": []any{"a.lie"}, "resources": []any{tree{"name": "a/lie", "allocatable": 8.0}}}, nil)},
	{"kubeadmLog", oneOf(strings.Repeat("ü\n", 4096))},
	{"kubeletLog", oneOf(strings.Repeat("ü\n", 4096))},
	{"rehearsal", oneOf(tree{"result": "Passed", "boot": "Down", "message": strings.Repeat("ü", 1024)}, tree{"result": "Failed"}, nil)},
	{"agentVersion", oneOf("v0.0.0", strings.Repeat("v", 1024))},
	{"steps", lieSteps},
	{"conditions", lieConditions},
}

func oneOf(list ...any) func(*world, *node, int) any {
	return func(_ *world, _ *node, which int) any { return list[which%len(list)] }
}

func lieTime(w *world, _ *node, which int) any {
	off := []time.Duration{-time.Hour, time.Hour, 100 * time.Hour, 0}[which%4]
	return w.now().Add(off).UTC().Format(time.RFC3339)
}

func lieVersion(w *world, _ *node, which int) any {
	return []any{w.script.To, w.script.From, w.script.next(), "v9.9.9", "none", strings.Repeat("v", 64), nil}[which%7]
}

// lieSteps are the steps of a node that has been upgraded, or has taken very long.
func lieSteps(w *world, _ *node, which int) any {
	var list []any
	at := w.now().Add(-time.Duration(1+which%2*1000) * time.Hour)
	for _, info := range v1alpha1.Steps {
		if phase := info.Phase; phase == v1alpha1.PhaseRevocable || phase == v1alpha1.PhaseCommitted {
			end := at.Add(time.Minute)
			list = append(list, tree{"step": string(info.Step), "startTime": microTime(at), "endTime": microTime(end)})
			at = end
		}
	}
	return list
}

func microTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z07:00") }

// lieConditions are conditions whose reasons and messages do not fit elsewhere, or say what others go by.
func lieConditions(w *world, _ *node, which int) any {
	reasons := []string{"a_b", "lower", "A:b,c", strings.Repeat("R", 1024), string(v1alpha1.ReasonUpToDate), string(v1alpha1.ReasonAwaitingRelease), string(v1alpha1.ReasonSourceUnavailable)}
	messages := []string{"simulated", strings.Repeat("ü", 32768), "a\x01b\n\n" + strings.Repeat("x", 1021) + "ü"}
	one := func(kind string) tree {
		return tree{
			"type": kind, "status": []string{"True", "False", "Unknown"}[which%3], "reason": reasons[which%len(reasons)], "message": messages[which/len(reasons)%len(messages)],
			"lastTransitionTime": w.now().UTC().Format(time.RFC3339),
		}
	}
	return []any{one(v1alpha1.ConditionUpToDate), one(v1alpha1.ConditionStalled), one(v1alpha1.ConditionManaged)}
}

// TestLies checks that there are lies of each field of the status, that the API server takes them, and that
// others read them, but not the agent that lies.
func TestLies(t *testing.T) {
	missing := map[string]bool{}
	for _, name := range fieldsIn(reflect.TypeFor[v1alpha1.NodeUpgradeStatus](), "") {
		missing[name] = true
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(plain(), false)
		w.run(w.started.Add(3*time.Minute), func() bool { return false })
		k := key{Resource: "nodeupgrades", Name: "w1"}
		truth := clone(inner(w.api.objects[k].tree, "status")).(tree)
		for _, one := range lies {
			delete(missing, one.field)
			for which := range lieKinds {
				w.explain(fault{Kind: "lie", Who: "w1"})
				w.lie(w.node("w1"), fault{Other: one.field, Number: which, For: time.Hour})
				shown := w.liars["w1"].truth(w.api.objects[k])
				if got := fieldOf(inner(shown.tree, "status"), one.field); one.field != "conditions" && !reflect.DeepEqual(got, fieldOf(truth, one.field)) {
					t.Errorf("%s: the agent that lies reads %v, want %v", one.field, got, fieldOf(truth, one.field))
				}
				if got := fieldOf(inner(w.api.objects[k].tree, "status"), one.field); one.field != "conditions" && one.field != "holdEndTime" && !reflect.DeepEqual(got, w.liars["w1"].lies[one.field]) {
					t.Errorf("%s: others read %v, want %v", one.field, got, w.liars["w1"].lies[one.field])
				}
				w.endLie("w1", one.field)
			}
		}
		if w.failure != "" {
			t.Error(w.failure)
		}
		for _, p := range w.programs() {
			p.cancel()
		}
		w.turns.end()
	})
	for name := range missing {
		t.Errorf("there are no lies in the field %s", name)
	}
}

// fieldsIn returns the JSON names of the fields of a struct, and of structs in it that are always there.
func fieldsIn(of reflect.Type, under string) (names []string) {
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		if inside := of.Field(i).Type; inside.Kind() == reflect.Struct {
			names = append(names, fieldsIn(inside, under+name+".")...)
			continue
		}
		names = append(names, under+name)
	}
	return names
}
