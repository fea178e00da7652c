package record

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// updated is a node in service with the kubelet v1.34.4.
func updated(m Moment) Moment {
	m.Object.Object["status"].(map[string]any)["nodeInfo"].(map[string]any)["kubeletVersion"] = "v1.34.4"
	return m
}

func TestInOrder(t *testing.T) {
	up := []Moment{
		node(1, "w1", "", "True", "a"), node(2, "w2", "", "True", "b"), node(3, "w3", "", "True", "c"),
		slot(4, "slot-0", "w1/x"), node(5, "w1", "ours", "True", "a"),
	}
	back := updated(node(6, "w1", "", "True", "d"))
	next := node(9, "w3", "ours", "True", "c")
	for name, test := range map[string]struct {
		then []Moment
		want string // part of what is reported; "" for nothing
	}{
		"after it is done":             {then: []Moment{back, slot(7, "slot-0", ""), next}},
		"in the same group, meanwhile": {then: []Moment{node(9, "w2", "ours", "True", "b")}},
		"while it is out of service":   {then: []Moment{next}, want: "cordon of w3 began before w1 was done"},
		"before its slot is free":      {then: []Moment{back, next}, want: "cordon of w3 began before w1 was done"},
		"it gave up":                   {then: []Moment{node(6, "w1", "", "True", "a"), slot(7, "slot-0", ""), next}, want: "before w1 was done"},
	} {
		t.Run(name, func(t *testing.T) {
			groups := [][]string{{"w1"}, {"w3"}}
			if strings.Contains(name, "same group") {
				groups = [][]string{{"w1", "w2"}, {"w3"}}
			}
			broken, err := InOrder(append(up[:5:5], test.then...), "v1.34.4", groups...)
			if err != nil {
				t.Fatal(err)
			}
			got := joined(broken)
			if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
				t.Errorf("reported %q, want %q", got, test.want)
			}
		})
	}
}

func TestFirstCordonsAndTogether(t *testing.T) {
	moments := []Moment{
		node(1, "w1", "", "True", "a"), node(2, "w2", "", "True", "b"), node(3, "w3", "", "True", "c"),
		node(4, "w2", "ours", "True", "b"), node(5, "w1", "ours", "True", "a"), node(6, "w2", "", "True", "b"),
		node(7, "w2", "ours", "True", "b"), node(8, "w1", "", "True", "d"), node(9, "w3", "ours", "True", "c"),
	}
	cordons, err := FirstCordons(moments)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"w2", "w1", "w3"}, cordons); diff != "" {
		t.Error(diff)
	}
	sets, err := Together(moments)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"w1", "w2"}, {"w2", "w3"}}, sets); diff != "" {
		t.Error(diff)
	}
}
