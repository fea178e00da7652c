//go:build integration

package host_test

import (
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// updateEngine is a fake of Flatcar's update_engine on the machine's system bus. It
// runs as root; node_test.go installs the bus policy that allows it.
type updateEngine struct {
	bus    *dbus.Conn
	status string
}

// GetStatus has the signature (x d s s x).
func (e *updateEngine) GetStatus() (int64, float64, string, string, int64, *dbus.Error) {
	return 1700000000, 1, e.status, "4593.1.0", 0, nil
}

func (e *updateEngine) tell(t *testing.T, status string, progress float64) {
	t.Helper()
	e.status = status
	if err := e.bus.Emit("/com/coreos/update1", "com.coreos.update1.Manager.StatusUpdate", int64(1700000000), progress, status, "4593.1.0", int64(0)); err != nil {
		t.Fatal(err)
	}
}

func startUpdateEngine(t *testing.T) *updateEngine {
	t.Helper()
	bus, err := dbus.ConnectSystemBus()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bus.Close() })
	e := &updateEngine{bus: bus, status: "UPDATE_STATUS_IDLE"}
	if err := bus.Export(e, "/com/coreos/update1", "com.coreos.update1.Manager"); err != nil {
		t.Fatal(err)
	}
	reply, err := bus.RequestName("com.coreos.update1", dbus.NameFlagDoNotQueue)
	if err != nil || reply != dbus.RequestNameReplyPrimaryOwner {
		t.Fatalf("%v %v", reply, err)
	}
	return e
}

func TestUpdateEngine(t *testing.T) {
	c := connect(t)
	says := func(want string) {
		t.Helper()
		if got, err := c.UpdateEngine(t.Context()); got != want || err != nil {
			t.Errorf("%q %v, want %q", got, err, want)
		}
	}
	says("")
	engine := startUpdateEngine(t)
	says("UPDATE_STATUS_IDLE")

	changes := follow(t, c)
	for range 1 + len(verb.Table) {
		<-changes
	}
	told := func(want bool) {
		t.Helper()
		select {
		case change := <-changes:
			if !want || !change.UpdateEngine {
				t.Errorf("unexpected %+v", change)
			}
		case <-time.After(time.Second):
			if want {
				t.Error("no signal arrived")
			}
		}
	}
	engine.tell(t, "UPDATE_STATUS_DOWNLOADING", 0.1)
	told(true)
	engine.tell(t, "UPDATE_STATUS_DOWNLOADING", 0.2)
	told(false)
	engine.tell(t, host.UpdateEngineNeedReboot, 0)
	told(true)
	says(host.UpdateEngineNeedReboot)

	_ = engine.bus.Close()
	says("")
}
