package record

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestOutages(t *testing.T) {
	second := func(n int) time.Time { return midnight.Add(time.Duration(n) * time.Second) }
	outages, err := Outages([]Moment{
		at(1, node(1, "w1", "", "True", "a")), at(1, node(2, "w2", "", "True", "a")),
		at(2, node(3, "w1", "ours", "True", "a")), at(3, node(4, "w1", "ours", "False", "a")),
		at(7, node(5, "w1", "", "True", "b")), at(8, node(6, "w2", "theirs", "True", "a")),
		at(9, node(7, "w2", "", "True", "a")), at(10, node(8, "w1", "ours", "True", "b")),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []Outage{{"w1", second(2), second(7)}, {"w2", second(8), second(9)}}
	if diff := cmp.Diff(want, outages); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := outages[0].Length(); got != 5*time.Second {
		t.Errorf("w1 was out of service for %s", got)
	}
}
