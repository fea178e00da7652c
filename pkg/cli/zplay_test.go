package cli_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/internal/apitest"
)

func TestPlay(t *testing.T) {
	if os.Getenv("PLAY") == "" {
		t.Skip()
	}
	config := apitest.Start(t)
	text, _ := os.ReadFile(apitest.Kubeconfig(t, config))
	os.WriteFile("/tmp/play.kc", text, 0o600)
	w := newWorld(t, config)
	workers, _ := strconv.Atoi(os.Getenv("PLAY"))
	images := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for _, name := range []string{"v1.33.9-x86-64", "v1.34.5-x86-64", "v1.35.4-x86-64", "v1.35.0-arm64", "v1.36.2-x86-64", "v1.38.0-x86-64"} {
			fmt.Fprintf(w, "%064d  kubernetes-%s.raw\n", 0, name)
		}
	}))
	cps := []string{"cp-1", "cp-2", "cp-3"}
	for _, n := range cps {
		w.addNode(n, "v1.34.4", true)
		w.words[n].Facts = &v1alpha1.NodeFacts{GatheredAt: metav1.Now(), CgroupVersion: 2, Etcd: &v1alpha1.EtcdFacts{Members: []v1alpha1.EtcdMember{{Name: "cp-1", Healthy: true, Version: "3.6.4"}, {Name: "cp-2", Healthy: true, Version: "3.6.4"}, {Name: "cp-3", Healthy: true, Version: "3.6.4"}}}}
		w.write(n)
		for _, c := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
			createObjects(config, fmt.Sprintf("kind: Pod\nmetadata: {name: %[2]s-%[1]s, namespace: kube-system, labels: {component: %[2]s}}\nspec: {nodeName: %[1]s, containers: [{name: c, image: \"registry.k8s.io/%[2]s:v1.34.4\"}]}\nstatus: {conditions: [{type: Ready, status: \"True\"}]}\n", n, c))
		}
	}
	var names []string
	for i := range workers {
		n := fmt.Sprintf("ip-10-0-12-%d.eu-central-1.compute.internal", i+1)
		w.addNode(n, "v1.34.4", false)
		names = append(names, n)
	}
	apply(t, config, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kubectl-upgrade"}}`)
	apply(t, config, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"coordinator","namespace":"kubectl-upgrade"},"data":{"config.yaml":"source: {url: %s}"}}`, images.URL))
	apply(t, config, `{"apiVersion":"kubectl-upgrade.dev/v1alpha1","kind":"MaintenanceSchedule","metadata":{"name":"always"},"spec":{"maintenanceWindows":[{"name":"always","startTime":"2026-01-01T00:00:00Z","endTime":"2026-01-02T00:00:00Z","recurrence":"FREQ=DAILY"}]}}`)
	os.WriteFile("/tmp/play.ready", nil, 0o600)
	var u *v1alpha1.ClusterUpgrade
	for u == nil {
		time.Sleep(300 * time.Millisecond)
		list, _ := w.ours.ClusterUpgrades.List(context.Background(), metav1.ListOptions{})
		for i := range list.Items {
			u = &list.Items[i]
		}
	}
	name := u.Name
	time.Sleep(2 * time.Second)
	w.ask(name, "v1.35.4")
	w.trigger(name, "v1.34.4", "v1.35.4")
	all := append(append([]string{}, cps...), names...)
	for _, n := range all {
		w.step(n, "Staging", "Staging", "the image is being downloaded and checked")
	}
	time.Sleep(4 * time.Second)
	for _, n := range all {
		w.words[n].StagedVersion = "v1.35.4"
		w.step(n, "Waiting", "ControlPlaneFirst", "not every kube-apiserver is at v1.35.4 yet")
	}
	beat := 2 * time.Second
	for _, n := range cps {
		w.tell(name, "Released", "node "+n+" is at work", nil)
		for _, s := range []v1alpha1.Step{"Locking", "Snapshotting", "Kubeadm", "Checking", "Unlocking"} {
			w.words[n].Slot = "slot-0"
			w.step(n, s, "Released", "the coordinator let it go")
			time.Sleep(beat)
		}
		w.words[n].KubeadmVersion, w.words[n].ControlPlaneVersion, w.words[n].Slot = "v1.35.4", "v1.35.4", ""
		w.step(n, "Waiting", "ControlPlaneFirst", "this node's control plane is at v1.35.4; the others come before the kubelets")
	}
	for _, n := range all {
		w.tell(name, "Released", "node "+n+" is at work", nil)
		for _, s := range []v1alpha1.Step{"Locking", "Cordoning", "Draining", "LastCheck", "Activating", "Rebooting", "Verifying", "Settling", "Uncordoning", "Unlocking"} {
			w.words[n].Slot = "slot-0"
			switch s {
			case "Draining":
				w.step(n, s, "Draining", "2 pods are leaving")
				time.Sleep(beat)
				w.step(n, s, "DrainBlocked", "PodDisruptionBudget web/web allows no eviction of pod web/web-7c9f-abcde; 2 pods are left")
				time.Sleep(3 * beat)
			default:
				w.step(n, s, "Released", "the coordinator let it go")
			}
			time.Sleep(beat / 2)
			if _, err := os.Stat("/tmp/play.fail"); err == nil && s == "Verifying" {
				w.step(n, "Failed", "NotReadyInTime", "the node is not Ready with kubelet v1.35.4 10m0s after its boot")
				w.tell(name, "NodeFailed", "node "+n+" failed (NotReadyInTime): the node is not Ready with kubelet v1.35.4 10m0s after its boot", func(s *v1alpha1.ClusterUpgradeStatus) {
					meta.SetStatusCondition(&s.Conditions, metav1.Condition{Type: "Stalled", Status: "True", Reason: "NodeFailed"})
				})
				time.Sleep(time.Hour)
			}
		}
		w.words[n].KubeletVersion, w.words[n].Slot = "v1.35.4", ""
		w.step(n, "Idle", "UpToDate", "the node runs v1.35.4")
	}
	w.end(name, v1alpha1.OutcomeSucceeded)
	time.Sleep(time.Hour)
}

func apply(t *testing.T, config *rest.Config, text string) {
	cmd := apitest.Kubectl(t, config, "apply", "--server-side", "-f", "-")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(string(out))
	}
}
