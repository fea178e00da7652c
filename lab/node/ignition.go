package node

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// ignitionProgram is where Debian's package ignition has it.
const ignitionProgram = "/usr/lib/dracut/modules.d/30ignition/ignition"

// ignitionStages are the stages of a first boot that write files, links and units. In a mount
// namespace of its own /etc is the folder that becomes the machine's. Debian's Ignition always
// labels files for SELinux, which the lab's nodes do not have: it finds a configuration, and a
// setfiles that does nothing.
const ignitionStages = `set -e
mkdir -p "$ROOT/etc" "$SCRATCH"
mount --bind "$ETC" "$ROOT/etc"
mkdir -p "$ROOT/etc/selinux"
printf 'SELINUX=disabled\nSELINUXTYPE=none\n' >"$ROOT/etc/selinux/config"
ln -sf /bin/true "$SCRATCH/setfiles"
for stage in fetch files; do
  PATH="$SCRATCH:$PATH" "$PROGRAM" --platform file --stage "$stage" --root "$ROOT" --config-cache "$SCRATCH/cache" --log-to-stdout
done
`

// RequireIgnition returns an error that says what to install if this machine has no Ignition.
func RequireIgnition() error {
	if _, err := os.Stat(ignitionProgram); err != nil {
		return fmt.Errorf("nodes that boot with Ignition need it on this machine: apt-get install ignition: %w", err)
	}
	return nil
}

// RunIgnition does what Ignition does at the first boot of a Flatcar node, before systemd
// starts: it writes what the configuration names, and downloads its files. The machine must be
// off. Without a configuration it does nothing.
func (m *Machine) RunIgnition(ctx context.Context) error {
	if m.Spec.Ignition == "" {
		return nil
	}
	cmd := exec.CommandContext(ctx, "unshare", "--mount", "sh", "-c", ignitionStages)
	cmd.Env = append(os.Environ(),
		"PROGRAM="+ignitionProgram, "IGNITION_CONFIG_FILE="+m.Spec.Ignition,
		"ROOT="+m.upper(), "ETC="+m.etc(), "SCRATCH="+filepath.Join(m.Dir, "ignition"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("running Ignition on node %s with %s: %w\n%s", m.Spec.Name, m.Spec.Ignition, err, out)
	}
	return nil
}
