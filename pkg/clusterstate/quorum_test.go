package clusterstate_test

import (
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

func TestMajority(t *testing.T) {
	for members, want := range map[int]int{1: 1, 2: 2, 3: 2, 4: 3, 5: 3, 7: 4} {
		if got := clusterstate.Majority(members); got != want {
			t.Errorf("of %d members: %d, want %d", members, got, want)
		}
	}
}
