package hook

import (
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// TestUninstall runs the commands of docs/install.md, but for the one that waits for agents, while a hook runs and
// another one has just ended: everything goes, though no coordinator is there any more.
func TestUninstall(t *testing.T) {
	w := newWorld(t)
	w.grant(w.config, "leave")
	k := NewKeeper(w.coordinator.BatchV1(), w.ours, slog.New(slog.DiscardHandler))
	sync := func(policy *v1alpha1.UpgradePolicy) {
		t.Helper()
		_, err := k.Read(t.Context(), policy, w.now)
		w.must(err)
		w.must(k.Write(t.Context(), policy, w.now))
	}
	running := w.store(v1alpha1.HookRunning, "")
	sync(running)
	from, err := w.admin.BatchV1().CronJobs(v1alpha1.HooksNamespace).Get(t.Context(), "leave", metav1.GetOptions{})
	w.must(err)
	other := running.Status.HookTurns[0]
	other.Hooks[0].Job = "leave-0"
	before, err := w.admin.BatchV1().Jobs(v1alpha1.HooksNamespace).Create(t.Context(), newJob(from, &other, &other.Hooks[0]), metav1.CreateOptions{})
	w.must(err)
	w.finish(before, batchv1.JobComplete, "", "")
	if jobs := w.jobs(); len(jobs) != 2 || len(jobs[0].Finalizers) != 1 || len(jobs[1].Finalizers) != 1 {
		t.Fatalf("want two Jobs with our finalizer: %+v", jobs)
	}

	page, err := os.ReadFile("../../../docs/install.md")
	w.must(err)
	block := regexp.MustCompile("(?s)\n## Uninstall\n.*?\n```\n(.*?)```").FindSubmatch(page)
	for command := range strings.Lines(string(block[1])) {
		args := strings.Fields(strings.ReplaceAll(command, "'", ""))[1:]
		switch args[0] {
		case "patch":
			defer func() { apitest.InstallCRDs(t, w.config) }() // other tests use this API server, too
		case "wait":
			policy, err := w.ours.UpgradePolicies.Get(t.Context(), v1alpha1.PolicyName, metav1.GetOptions{})
			w.must(err)
			sync(policy)
			continue
		case "delete":
			go w.emptyNamespaces()
			args = []string{"delete", "-k", "../../../manifests", "--ignore-not-found", "--timeout=90s"}
		}
		if out, err := apitest.Kubectl(t, w.config, args...).CombinedOutput(); err != nil {
			t.Errorf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// emptyNamespaces deletes what is in namespaces that are being deleted, and lets those go that are empty, as the
// controllers for namespaces and for garbage do. Other kinds than these three have no finalizers.
func (w *world) emptyNamespaces() {
	for ; w.Context().Err() == nil; time.Sleep(100 * time.Millisecond) {
		for _, name := range []string{v1alpha1.Namespace, v1alpha1.HooksNamespace} {
			namespace, err := w.admin.CoreV1().Namespaces().Get(w.Context(), name, metav1.GetOptions{})
			if err != nil || namespace.DeletionTimestamp == nil {
				continue
			}
			every, background := metav1.ListOptions{}, metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}
			_ = w.admin.BatchV1().CronJobs(name).DeleteCollection(w.Context(), background, every) // it is tried again
			_ = w.admin.BatchV1().Jobs(name).DeleteCollection(w.Context(), background, every)
			_ = w.admin.CoordinationV1().Leases(name).DeleteCollection(w.Context(), background, every)
			jobs, err := w.admin.BatchV1().Jobs(name).List(w.Context(), every)
			if err != nil || len(jobs.Items) > 0 {
				continue
			}
			namespace.Spec.Finalizers = nil
			_, _ = w.admin.CoreV1().Namespaces().Finalize(w.Context(), namespace, metav1.UpdateOptions{})
		}
	}
}
