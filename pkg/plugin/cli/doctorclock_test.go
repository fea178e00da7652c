package cli_test

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/cli"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// TestClocksFollowRenewals renews a node's Lease as its kubelet does, with clocks that differ. The
// API server notes the time of each renewal: the difference does not grow with the Lease's age.
func TestClocksFollowRenewals(t *testing.T) {
	config := apitest.Start(t)
	leases := kubernetes.NewForConfigOrDie(config).CoordinationV1().Leases("kube-node-lease")
	ctx := context.Background()
	clocks := map[string]time.Duration{"clock-right": 0, "clock-ahead": 90 * time.Second}
	for name := range clocks {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}}
		lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now().Add(-time.Hour)}
		lease.Spec.LeaseDurationSeconds = ptr.To[int32](40)
		if _, err := leases.Create(ctx, lease, metav1.CreateOptions{FieldManager: "kubelet"}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = leases.Delete(ctx, name, metav1.DeleteOptions{}) })
	}
	time.Sleep(2 * time.Second)
	for name, ahead := range clocks {
		lease, err := leases.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		created := lease.ManagedFields[0].Time.Time
		lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now().Add(ahead)}
		if lease, err = leases.Update(ctx, lease, metav1.UpdateOptions{FieldManager: "kubelet"}); err != nil {
			t.Fatal(err)
		}
		if !lease.ManagedFields[0].Time.After(created) {
			t.Errorf("the API server did not note the time of the renewal: %v", lease.ManagedFields)
		}
	}
	var out bytes.Buffer
	command := cli.New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}, "v0.0.0-test")
	command.SetArgs([]string{"doctor", "--kubeconfig", apitest.Kubeconfig(t, config), "--source", "http://127.0.0.1:1/"})
	_ = command.ExecuteContext(ctx) // this cluster has no control-plane pods
	if got := out.String(); !regexp.MustCompile(`clock-ahead \(\d+s ahead\)`).MatchString(got) || strings.Contains(got, "clock-right") {
		t.Errorf("kubectl upgrade doctor:\n%s", got)
	}
}
