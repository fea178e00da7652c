//go:build !integration

package host

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// After a power cut there is a request and no result. What came of it must be
// the same whenever somebody looks, or an agent that waits for facts newer than
// the last end of work waits for ever.
func TestPowerCutEndsOnce(t *testing.T) {
	root := t.TempDir()
	asked := Request{Verb: VerbKubeadm, Key: "v1.34.4 attempt 1", RequestedAt: time.Date(2026, 11, 21, 1, 2, 3, 0, time.UTC)}
	if err := writeJSON(requestFile(root, VerbKubeadm), asked); err != nil {
		t.Fatal(err)
	}
	first, err := lastResult(root, VerbKubeadm)
	if err != nil || first == nil || first.OK || first.Key != asked.Key || first.Message == "" {
		t.Fatalf("%+v %v", first, err)
	}
	time.Sleep(time.Millisecond)
	second, err := lastResult(root, VerbKubeadm)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("another look, another end (-first +second):\n%s", diff)
	}
}
