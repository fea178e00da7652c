package page

import "testing"

func TestBetween(t *testing.T) {
	for _, row := range [][3]string{
		{"w-1", "w-1", "w-1"},
		{"w-1", "w-250", "w-1 – w-250"},
		{"worker-eu-central-1a-00001", "worker-eu-central-1a-00250", "…1a-00001 – …1a-00250"},
		{"alpha.nodes.example.com.internal", "beta.nodes.example.com.internal", "alpha.nodes.example.com.internal – beta.nodes.example.com.internal"},
	} {
		if _, short := between(row[0], row[1]); short != row[2] {
			t.Errorf("%s to %s is %q, want %q", row[0], row[1], short, row[2])
		}
	}
}
