package cluster

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStartAnew(t *testing.T) {
	one := Spec{ControlPlanes: 1, Workers: 2}.endpoints()
	three := Spec{ControlPlanes: 3, Workers: 1}.endpoints()
	for _, test := range []struct {
		name   string
		three  bool
		joined []string
		want   []string
	}{
		{"nothing is there", false, nil, []string{"cp1", "w1", "w2"}},
		{"a worker is missing", false, []string{"cp1", "w2"}, []string{"w1"}},
		{"all are there", false, []string{"cp1", "w1", "w2"}, nil},
		{"the first was cut off", false, []string{"w1"}, []string{"cp1", "w1", "w2"}},
		{"a later control plane was cut off", true, []string{"cp1", "cp2", "w1"}, []string{"cp1", "cp2", "cp3", "w1"}},
		{"only a worker of three", true, []string{"cp1", "cp2", "cp3"}, []string{"w1"}},
	} {
		joined := map[string]bool{}
		for _, name := range test.joined {
			joined[name] = true
		}
		all := one
		if test.three {
			all = three
		}
		if diff := cmp.Diff(test.want, startAnew(all, joined)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestControlPlanesJoinInTurnAndWorkersMeanwhile(t *testing.T) {
	for _, test := range []struct {
		fresh []string
		want  [][]string
	}{
		{nil, nil},
		{[]string{"cp1"}, nil},
		{[]string{"cp1", "w1", "w2"}, [][]string{{"w1"}, {"w2"}}},
		{[]string{"cp1", "cp2", "cp3", "w1"}, [][]string{{"cp2", "cp3"}, {"w1"}}},
		{[]string{"w2"}, [][]string{{"w2"}}},
	} {
		if diff := cmp.Diff(test.want, joinQueues(test.fresh)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.fresh, diff)
		}
	}
}

func TestEachReturnsEveryError(t *testing.T) {
	err := each([]string{"a", "b", "c"}, func(name string) error {
		if name == "b" {
			return nil
		}
		return errors.New(name + " failed")
	})
	if err == nil || !strings.Contains(err.Error(), "a failed") || !strings.Contains(err.Error(), "c failed") {
		t.Errorf("got %v", err)
	}
	if err := each([]int{1}, func(int) error { return nil }); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestLastLinesKeepsTheEnd(t *testing.T) {
	long := strings.Repeat("chatter\n", 100) + "what went wrong"
	got := lastLines(errors.New(long)).Error()
	if strings.Count(got, "\n") > 12 || !strings.HasSuffix(got, "what went wrong") {
		t.Errorf("got %q", got)
	}
}
