//go:build integration

package host_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/facts"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// softRebootFile has the boot ID before the soft reboot, and is there until its end was checked.
const softRebootFile = "/out/soft-reboot"

// softReboots is set if the machine is to be soft-rebooted after the tests.
var softReboots bool

// TestSoftReboot has the machine soft-rebooted once all tests have passed, as they do not
// survive it. What is checked then is in afterSoftReboot.
func TestSoftReboot(t *testing.T) {
	got, err := host.OnNode.SoftReboots(t.Context(), host.NewLog(t.Output()), host.RunProgram)
	if err != nil || got != (host.SoftReboots{}) {
		t.Fatalf("%+v %v, want a systemd that counts soft reboots, and has counted none", got, err)
	}
	softReboots = true
}

// runInNode runs the tests, and then TestSoftReboot's second half, in another process after
// the soft reboot.
func runInNode(m *testing.M) (status int) {
	before, err := os.ReadFile(softRebootFile)
	if err == nil {
		err = afterSoftReboot(string(before))
	} else {
		if status = m.Run(); status != 0 || !softReboots {
			return status
		}
		err = softReboot()
	}
	_ = os.Remove(softRebootFile)
	if err != nil {
		fmt.Println("--- FAIL: TestSoftReboot, after the soft reboot:", err)
		return 1
	}
	fmt.Println("ok: TestSoftReboot, after the soft reboot")
	return 0
}

// softReboot activates an image, and asks for a soft reboot, which ends this process.
func softReboot() error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	commands := []string{
		"umount /usr/share/doc", // TestRestart's
		"systemctl enable systemd-sysext.service", "touch /run/kept",
		"systemctl restart systemd-logind.service", // TestBusRestart has killed its bus
	}
	for _, command := range commands {
		if out, err := exec.CommandContext(ctx, "sh", "-c", command).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", command, err, out)
		}
	}
	c := host.NewClient(host.Root, "", verb.Failures())
	if err := activateForSoftReboot(ctx, c); err != nil {
		return err
	}
	boot, err := host.OnNode.BootID()
	if err != nil {
		return err
	}
	if err := os.WriteFile(softRebootFile, []byte(boot), 0o600); err != nil {
		return err
	}
	if stopping, err := c.IsStopping(ctx); stopping || err != nil {
		return fmt.Errorf("before the request it is stopping: %t, %w", stopping, err)
	}
	asked := c.SoftReboot(ctx) // the bus may end before its answer
	time.Sleep(time.Minute)
	return errors.Join(asked, errors.New("a minute after the request nothing has happened"))
}

func activateForSoftReboot(ctx context.Context, c *host.Client) error {
	const version = "v1.34.4"
	hash, err := exec.CommandContext(ctx, "sha256sum", host.ImagePath(version, host.Architecture())).Output()
	if err != nil {
		return err
	}
	r, err := verb.NewRequest(verb.Activate, "soft", verb.ActivateArgs{
		Version: version, SHA256: strings.Fields(string(hash))[0], Upgrade: "soft", Method: v1alpha1.MethodSoftReboot,
	})
	if err != nil {
		return err
	}
	if err := c.Start(ctx, r, verb.Options{}); err != nil {
		return err
	}
	for {
		running, last, err := c.Last(ctx, verb.Activate)
		switch {
		case err != nil:
			return err
		case !running && last != nil && !last.OK:
			return fmt.Errorf("activate: %s", last.Message)
		case !running && last != nil:
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// afterSoftReboot checks what the machine is after the soft reboot.
func afterSoftReboot(bootID string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	log := host.NewLog(os.Stdout)
	now, err := host.OnNode.BootID()
	if err != nil || now != bootID {
		return fmt.Errorf("the boot ID is %s (%w), want %s as before", now, err, bootID)
	}
	found, err := facts.Gather(ctx, host.OnNode, log)
	if err != nil {
		return err
	}
	if found.SoftReboots != 1 || found.Node.SoftRebootBlocker != nil || found.BootID != bootID {
		return fmt.Errorf("the facts are %+v", found)
	}
	if found.Merged != "v1.34.4" || found.Active != "v1.34.4" {
		return fmt.Errorf("merged %q, active %q, want v1.34.4 to be merged again", found.Merged, found.Active)
	}
	if _, err := os.Stat("/run/kept"); err != nil {
		return fmt.Errorf("/run is not kept: %w", err)
	}
	return guardWatches(ctx, log, host.BootName(bootID, 1))
}

// guardWatches waits until the guard runs, in the boot of that name.
func guardWatches(ctx context.Context, log *host.Log, boot string) error {
	for ctx.Err() == nil {
		state, _ := host.RunProgram(ctx, log, "systemctl", "show", "--value", "--property=ActiveState", host.GuardUnit)
		start, _ := os.ReadFile(host.GuardStartFile)
		if strings.TrimSpace(state) == "active" && strings.HasSuffix(string(start), " "+boot) && host.OnNode.GuardBoots() == 1 {
			return nil
		}
		time.Sleep(200 * time.Millisecond)
	}
	start, _ := os.ReadFile(host.GuardStartFile)
	return fmt.Errorf("the guard does not watch: it started at %q, and counted %d boots", start, host.OnNode.GuardBoots())
}
