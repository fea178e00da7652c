package clusterstate_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

func app(name string) v1alpha1.LabelSelector {
	return v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": v1alpha1.LabelValue(name)}}
}

func TestTheFirstRuleThatMatchesCounts(t *testing.T) {
	rules, err := clusterstate.CompileDrainRules([]v1alpha1.DrainRule{
		{Name: "cache", PodSelector: app("cache"), Namespaces: []string{"shop", "blog"}, Behavior: v1alpha1.DrainSkip},
		{Name: "caches", PodSelector: app("cache"), Behavior: v1alpha1.DrainWaitCompleted},
		{Name: "shop", Namespaces: []string{"shop"}, Behavior: v1alpha1.DrainSkip},
	})
	if err != nil {
		t.Fatal(err)
	}
	for pod, want := range map[string]v1alpha1.DrainBehavior{
		"shop/cache":  v1alpha1.DrainSkip,
		"blog/cache":  v1alpha1.DrainSkip,
		"other/cache": v1alpha1.DrainWaitCompleted,
		"shop/web":    v1alpha1.DrainSkip,
		"other/web":   v1alpha1.DrainPod,
	} {
		namespace, label, _ := strings.Cut(pod, "/")
		got, selected := rules.Behavior(namespace, labels.Set{"app": label})
		if got != want || selected != (pod != "other/web") {
			t.Errorf("%s: got %s, want %s", pod, got, want)
		}
	}
}

func TestASelectorThatKubernetesRefusesIsNamed(t *testing.T) {
	bad := v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"no such key": "x"}}
	_, err := clusterstate.CompileDrainRules([]v1alpha1.DrainRule{{Name: "typo", PodSelector: bad, Behavior: v1alpha1.DrainSkip}})
	if err == nil || !strings.Contains(err.Error(), "drain rule typo: podSelector: ") {
		t.Errorf("got %v, want an error that names the rule", err)
	}
}
