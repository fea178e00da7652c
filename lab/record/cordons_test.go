package record

import (
	"strings"
	"testing"
	"time"
)

func TestLostCordons(t *testing.T) {
	free := node(1, "w1", "", "True", "a")
	theirs, ours := node(2, "w1", "theirs", "True", "a"), node(3, "w1", "ours", "True", "a")
	for name, test := range map[string]struct {
		moments []Moment
		want    string // part of what is reported; "" for nothing
	}{
		"a cordon that stays":        {moments: []Moment{free, theirs}},
		"our own":                    {moments: []Moment{free, ours, node(4, "w1", "", "True", "a")}},
		"one that is not ours":       {moments: []Moment{free, theirs, node(4, "w1", "", "True", "a")}, want: "revision 4: the cordon of w1"},
		"of a Node that was deleted": {moments: []Moment{free, theirs, gone(node(4, "w1", "", "True", "a"))}},
	} {
		t.Run(name, func(t *testing.T) {
			broken, err := LostCordons(test.moments, "w1")
			if got := joined(broken); err != nil || (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
				t.Errorf("reported %q and error %v, want %q", got, err, test.want)
			}
		})
	}
}

// TestWithout: a node that is abandoned is down without a slot, which is no broken promise.
func TestWithout(t *testing.T) {
	moments := []Moment{
		at(1, node(0, "w1", "", "True", "a")), at(2, slot(0, "slot-0", "w1/x")),
		at(3, node(0, "w1", "ours", "False", "a")), at(5, slot(0, "slot-0", "")), at(6, node(0, "w1", "ours", "Unknown", "a")),
	}
	if broken, err := Promises(moments, 1); err != nil || len(broken) == 0 {
		t.Errorf("reported %q and error %v, want that w1 is down without a slot", broken, err)
	}
	if broken, err := Promises(Without(moments, "w1", midnight.Add(4*time.Second)), 1); err != nil || len(broken) > 0 {
		t.Errorf("reported %q and error %v of a node that was abandoned", broken, err)
	}
}

// TestFreedAt: a node is struck when it has just freed its slot, and counts no more from then on.
func TestFreedAt(t *testing.T) {
	moments := []Moment{
		at(1, node(0, "w1", "", "True", "a")), at(2, slot(0, "slot-0", "w1/x")), at(3, slot(0, "slot-0", "")),
		at(4, node(0, "w1", "", "Unknown", "a")),
	}
	for until, want := range map[int]time.Time{1: {}, 2: {}, 3: midnight.Add(3 * time.Second), 4: midnight.Add(3 * time.Second)} {
		if freed, err := FreedAt(moments[:until], "w1"); err != nil || !freed.Equal(want) {
			t.Errorf("after %d moments: got %s and error %v, want %s", until, freed, err, want)
		}
	}
	if broken, err := Promises(Without(moments, "w1", midnight.Add(3*time.Second)), 1); err != nil || len(broken) > 0 {
		t.Errorf("reported %q and error %v of a node that had freed its slot", broken, err)
	}
}
