package host

import (
	"context"

	"github.com/godbus/dbus/v5"
)

// UpdateEngineNeedReboot is update_engine's status after it has installed an
// update of the operating system, which takes effect with the next boot.
const UpdateEngineNeedReboot = "UPDATE_STATUS_UPDATED_NEED_REBOOT"

const updateEngineInterface = "com.coreos.update1.Manager"

// UpdateEngine returns the status of Flatcar's update_engine, such as
// UPDATE_STATUS_IDLE or UpdateEngineNeedReboot. The status is empty if
// update_engine does not run, because it is masked or the node does not run
// Flatcar. The call does not start update_engine.
func (c *Client) UpdateEngine(ctx context.Context) (status string, err error) {
	bus, err := c.connected(ctx)
	if err != nil {
		return "", err
	}
	call := bus.Object(updateEngine.name, updateEngine.path).
		CallWithContext(ctx, updateEngineInterface+".GetStatus", dbus.FlagNoAutoStart)
	if isDBusError(call.Err, "org.freedesktop.DBus.Error.NameHasNoOwner") || isDBusError(call.Err, "org.freedesktop.DBus.Error.ServiceUnknown") {
		return "", nil
	}
	var (
		checkedAt, size int64
		progress        float64
		version         string
	)
	if err := call.Store(&checkedAt, &progress, &status, &version, &size); err != nil {
		return "", unreachable("asking update_engine for its status: %w", err)
	}
	return status, nil
}

// statusUpdate matches the signal that update_engine sends whenever its status
// or its progress changes. The sender is not checked: a signal only causes the
// agent to query the status.
var statusUpdate = []dbus.MatchOption{
	dbus.WithMatchInterface(updateEngineInterface),
	dbus.WithMatchMember("StatusUpdate"),
	dbus.WithMatchObjectPath(updateEngine.path),
}

// engineStatus returns the status in a StatusUpdate signal, whose body has the
// same fields as the reply to GetStatus.
func engineStatus(s *dbus.Signal) (string, bool) {
	if s.Name != updateEngineInterface+".StatusUpdate" || len(s.Body) < 3 {
		return "", false
	}
	status, ok := s.Body[2].(string)
	return status, ok
}
