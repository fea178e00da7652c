// Program update_engine simulates Flatcar's update_engine on a node of the lab: the
// service com.coreos.update1 with its status and its signal, but without updates.
// `lab update-engine` sets the status, and a reboot resets it, as on Flatcar.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/introspect"
)

// As Flatcar's update_engine has them
// (https://github.com/flatcar/update_engine, dbus_service.cc).
const (
	name       = "com.coreos.update1"
	path       = dbus.ObjectPath("/com/coreos/update1")
	manager    = "com.coreos.update1.Manager"
	idle       = "UPDATE_STATUS_IDLE"
	needReboot = "UPDATE_STATUS_UPDATED_NEED_REBOOT"
	sentinel   = "/run/reboot-required"
)

// lab is an additional interface: it sets the status.
const lab = "dev.kubectl_upgrade.Lab"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "update_engine:", err)
		os.Exit(1)
	}
}

func run() error {
	bus, err := dbus.ConnectSystemBus()
	if err != nil {
		return fmt.Errorf("connecting to the system bus: %w", err)
	}
	defer bus.Close()
	e := &engine{emit: bus.Emit, status: idle, sentinel: sentinel, checked: time.Now().Unix()}
	if err := serve(bus, e); err != nil {
		return err
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	<-stop
	return nil
}

// serve puts the engine on the bus and then takes the name, so that a client that
// finds the name gets an answer.
func serve(bus *dbus.Conn, e *engine) error {
	methods := map[string]map[string]any{
		manager: {"GetStatus": e.GetStatus},
		lab:     {"Set": e.Set},
	}
	for iface, table := range methods {
		if err := bus.ExportMethodTable(table, path, iface); err != nil {
			return fmt.Errorf("serving %s: %w", iface, err)
		}
	}
	if err := bus.Export(introspect.Introspectable(description), path, "org.freedesktop.DBus.Introspectable"); err != nil {
		return fmt.Errorf("describing the service: %w", err)
	}
	reply, err := bus.RequestName(name, dbus.NameFlagDoNotQueue)
	if err != nil {
		return fmt.Errorf("taking the name %s: %w", name, err)
	}
	if reply != dbus.RequestNameReplyPrimaryOwner {
		return fmt.Errorf("the name %s is taken", name)
	}
	return nil
}

// engine is the simulated update_engine.
type engine struct {
	emit     func(path dbus.ObjectPath, name string, values ...any) error
	sentinel string
	checked  int64

	mu     sync.Mutex
	status string
}

// GetStatus answers when the last check was, how far a download is, the status,
// and the new version and its size.
func (e *engine) GetStatus() (checked int64, progress float64, status, version string, size int64, failure *dbus.Error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	progress, version = e.update()
	return e.checked, progress, e.status, version, 0, nil
}

// update is how far it is, and to which version.
func (e *engine) update() (progress float64, version string) {
	if e.status == needReboot {
		return 1, "9999.0.0"
	}
	return 0, "0.0.0"
}

// Set changes the status. For an installed update it creates the file that asks for
// a reboot, as the real one does; only a reboot removes it.
func (e *engine) Set(status string) *dbus.Error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if status == needReboot {
		if err := os.WriteFile(e.sentinel, nil, 0o644); err != nil {
			return dbus.MakeFailedError(err)
		}
	}
	e.status = status
	progress, version := e.update()
	if err := e.emit(path, manager+".StatusUpdate", e.checked, progress, e.status, version, int64(0)); err != nil {
		return dbus.MakeFailedError(err)
	}
	return nil
}

// description is for busctl, which then knows the types.
const description = `<node>
	<interface name="` + manager + `">
		<method name="GetStatus">
			<arg type="x" name="last_checked_time" direction="out"/>
			<arg type="d" name="progress" direction="out"/>
			<arg type="s" name="current_operation" direction="out"/>
			<arg type="s" name="new_version" direction="out"/>
			<arg type="x" name="new_size" direction="out"/>
		</method>
		<signal name="StatusUpdate">
			<arg type="x" name="last_checked_time"/>
			<arg type="d" name="progress"/>
			<arg type="s" name="current_operation"/>
			<arg type="s" name="new_version"/>
			<arg type="x" name="new_size"/>
		</signal>
	</interface>
	<interface name="` + lab + `">
		<method name="Set"><arg type="s" name="status" direction="in"/></method>
	</interface>` + introspect.IntrospectDataString + `</node>`
