package node

const (
	updateEngine        = "/usr/sbin/update_engine"
	updateEngineService = "update-engine.service"
)

// updateEnginePolicy is Flatcar's, as far as a node of the lab needs it: root
// answers, and every user may call it and receive its signals.
const updateEnginePolicy = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <policy user="root">
    <allow own="com.coreos.update1"/>
    <allow send_destination="com.coreos.update1"/>
  </policy>
  <policy context="default">
    <allow send_destination="com.coreos.update1" send_interface="com.coreos.update1.Manager" send_member="GetStatus"/>
  </policy>
</busconfig>
`

// updateEngineUnit restarts no node by itself: on Flatcar locksmithd would, where
// it was not masked.
const updateEngineUnit = `[Unit]
Description=What plays Flatcar's update_engine

[Service]
Type=dbus
BusName=com.coreos.update1
ExecStart=` + updateEngine + `
Restart=always
`

func (s Spec) updateEngineFiles() []file {
	if s.UpdateEngine == "" {
		return []file{{path: units + updateEngineService, link: "/dev/null"}}
	}
	return []file{
		{path: updateEngine, source: s.UpdateEngine, mode: 0o755},
		{path: "/etc/dbus-1/system.d/com.coreos.update1.conf", text: updateEnginePolicy},
		{path: systemd + updateEngineService, text: updateEngineUnit},
		{path: systemd + "multi-user.target.wants/" + updateEngineService, link: "../" + updateEngineService},
	}
}
