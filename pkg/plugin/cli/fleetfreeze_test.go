package cli_test

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// reportSchedules writes the status of schedules, as the coordinator does, until the test ends.
func reportSchedules(t *testing.T, config *rest.Config) {
	t.Helper()
	kinds, err := kube.NewKinds(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if list, err := kinds.MaintenanceSchedules.List(ctx, metav1.ListOptions{}); err == nil {
				for i := range list.Items {
					s := &list.Items[i]
					state, until := schedule.State(s, time.Now())
					s.Status = v1alpha1.MaintenanceScheduleStatus{ObservedGeneration: s.Generation, State: state}
					if until != nil {
						s.Status.UntilTime = &metav1.Time{Time: *until}
					}
					_, _ = kinds.MaintenanceSchedules.UpdateStatus(ctx, s, metav1.UpdateOptions{})
				}
			}
			time.Sleep(50 * time.Millisecond)
		}
	}()
}

// TestFleetFreezeIsConfirmed checks that a cluster counts as frozen once its coordinator says so, that the
// same freeze again is there already, and that the silent cluster is named with the commands for it.
func TestFleetFreezeIsConfirmed(t *testing.T) {
	config := apitest.Start(t)
	apitest.InstallCRDs(t, config)
	removeObjects(t, config)
	reportSchedules(t, config)
	names, proxies := proxied(t, config, 2, 0, func(i int) bool { return i == 1 })
	kubeconfig := fleetKubeconfig(t, config, names, proxies)
	for _, want := range []string{"Frozen", "AlreadyFrozen"} {
		out, errOut, code := runFleet(t, kubeconfig, "freeze", "incident", "--contexts", "prod-000", "--until", "2099-01-01T00:00:00Z", "--reason", "x", "-o", "jsonpath={.items[0].state} {.until}")
		if out != want+" 2099-01-01T00:00:00Z" || code != 0 || errOut != "" {
			t.Errorf("got %d, %s%s, want %s", code, out, errOut, want)
		}
	}
	stop := []string{"freeze", "everything", "--contexts", "prod-000", "--until", "2099-01-01T00:00:00Z", "--reason", "x", "-o", "jsonpath={.items[0].state}: {.items[0].message}"}
	if out, errOut, _ := runFleet(t, kubeconfig, append(stop, "--certificates")...); out != "Frozen: " || errOut != "" {
		t.Errorf("got %s%s", out, errOut)
	}
	if out, errOut, _ := runFleet(t, kubeconfig, stop...); out != "AlreadyFrozen: it stops the renewal of certificates, too" || errOut != "" {
		t.Errorf("got %s%s", out, errOut)
	}
	out, errOut, code := runFleet(t, kubeconfig, "freeze", "incident", "--contexts", "*", "--until", "2099-01-01T00:00:00Z", "--reason", "x", "--cluster-timeout", "2s")
	for _, want := range []string{
		"prod-000   AlreadyFrozen   2099-01-01 ", "prod-001   NotFrozen       -                      Silent: no answer within 2s\n", "Freeze incident: 1 of 2 clusters as asked.\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%s\nhas no %q", out, want)
		}
	}
	const says = `Certificates are still renewed; --certificates stops that, too.
Not frozen, or not confirmed: prod-001.
Repeat: kubectl upgrade fleet freeze incident --until 2099-01-01T00:00:00Z --reason x --contexts prod-001
The freeze stays in: prod-000.
Undo: kubectl upgrade fleet unfreeze incident --contexts prod-000
error: 1 of 2 clusters are not frozen, or not confirmed to be: prod-001
`
	if code != 5 || errOut != says {
		t.Errorf("got %d:\n%s\nwant 5:\n%s", code, errOut, says)
	}
}
