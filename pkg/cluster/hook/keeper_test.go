package hook

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// world is an API server with our manifests, a policy, and a CronJob that the coordinator may start.
type world struct {
	*testing.T
	admin       kubernetes.Interface
	coordinator kubernetes.Interface // with the coordinator's rights
	ours        *kube.Kinds
	now         time.Time
	config      *rest.Config
}

func newWorld(t *testing.T) *world {
	config := apitest.Fresh(t, func(config *rest.Config) {
		apitest.InstallCRDs(t, config)
		for _, manifests := range [][]string{{"-f", "../../../manifests/namespace.yaml"}, {"-k", "../../../manifests/coordinator"}, {"-k", "../../../manifests/hooks"}, {"-k", "../../../manifests/admission"}} {
			if out, err := apitest.Kubectl(t, config, append([]string{"apply"}, manifests...)...).CombinedOutput(); err != nil {
				t.Fatalf("kubectl apply %s: %v\n%s", manifests, err, out)
			}
		}
	})
	as := rest.CopyConfig(config)
	as.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:kubectl-upgrade:coordinator", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kubectl-upgrade", "system:authenticated"},
		Extra: map[string][]string{"authentication.kubernetes.io/pod-name": {"coordinator-5d9c7b6f4-x2x7k"}},
	}
	w := &world{T: t, admin: kubernetes.NewForConfigOrDie(config), coordinator: kubernetes.NewForConfigOrDie(as), now: time.Now().Truncate(time.Second), config: config}
	var err error
	w.ours, err = kube.NewKinds(config)
	w.must(err)
	_, err = w.ours.UpgradePolicies.Create(t.Context(), &v1alpha1.UpgradePolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}, Spec: v1alpha1.UpgradePolicySpec{Mode: v1alpha1.ModeManage}}, metav1.CreateOptions{})
	w.must(err)
	_, err = w.admin.BatchV1().CronJobs(v1alpha1.HooksNamespace).Create(t.Context(), cronJob("leave"), metav1.CreateOptions{})
	w.must(err)
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// grant runs the command that explain shows.
func (w *world) grant(config *rest.Config, cronJob string) {
	w.Helper()
	for command := range strings.SplitSeq(Grant(cronJob), " && ") {
		if out, err := apitest.Kubectl(w.T, config, strings.Fields(command)[1:]...).CombinedOutput(); err != nil {
			w.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
}

// cronJob uses many fields that a Job must keep.
func cronJob(name string) *batchv1.CronJob {
	return &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: batchv1.CronJobSpec{
		Schedule: "0 0 1 1 *", Suspend: ptr.To(true),
		JobTemplate: batchv1.JobTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "lb"}},
			Spec: batchv1.JobSpec{
				BackoffLimit: ptr.To[int32](0), TTLSecondsAfterFinished: ptr.To[int32](0),
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "lb"}, Annotations: map[string]string{"example.com/a": "b"}},
					Spec: corev1.PodSpec{
						RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: "lb",
						Containers: []corev1.Container{{
							Name: "c", Image: "lb:1", Command: []string{"leave"},
							Env: []corev1.EnvVar{{Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['" + NodeAnnotation + "']"}}}},
						}},
					},
				},
			},
		},
	}}
}

// store stores a turn of w1, whose hook runs, and returns the policy.
func (w *world) store(state v1alpha1.HookState, jobUID string) *v1alpha1.UpgradePolicy {
	w.Helper()
	run := v1alpha1.HookRun{Name: "leave", When: v1alpha1.BeforeNode, CronJobName: "leave", TimeoutSeconds: 600, State: state, Job: "leave-1", JobUID: jobUID, StartTime: &metav1.Time{Time: w.now}}
	turn := v1alpha1.HookTurn{ID: 1, Upgrade: v1alpha1.UpgradeReference{Name: "u", UID: "uid"}, Version: "v1.34.5", From: "v1.34.4", Node: "w1", NodeUID: "w1-uid", Release: v1alpha1.ReleaseNode, StartTime: metav1.Time{Time: w.now}, Hooks: []v1alpha1.HookRun{run}}
	policy := &v1alpha1.UpgradePolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}, Status: v1alpha1.UpgradePolicyStatus{RememberedState: v1alpha1.RememberedState{HookTurns: []v1alpha1.HookTurn{turn}}}}
	stored, err := w.ours.UpgradePolicies.Apply(w.Context(), policy, "test", "status")
	w.must(err)
	return stored
}

func (w *world) jobs() []batchv1.Job {
	w.Helper()
	list, err := w.admin.BatchV1().Jobs(v1alpha1.HooksNamespace).List(w.Context(), metav1.ListOptions{})
	w.must(err)
	return list.Items
}

// finish ends a Job as the Job controller does.
func (w *world) finish(job *batchv1.Job, kind batchv1.JobConditionType, reason, message string) {
	w.Helper()
	at := metav1.NewTime(w.now)
	criteria := map[batchv1.JobConditionType]batchv1.JobConditionType{batchv1.JobComplete: batchv1.JobSuccessCriteriaMet, batchv1.JobFailed: batchv1.JobFailureTarget}[kind]
	job.Status.StartTime = &at
	if kind == batchv1.JobComplete {
		job.Status.CompletionTime = &at
		job.Status.Succeeded = 1
	}
	for _, one := range []batchv1.JobConditionType{criteria, kind} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: one, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: at})
	}
	job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	_, err := w.admin.BatchV1().Jobs(job.Namespace).UpdateStatus(w.Context(), job, metav1.UpdateOptions{})
	w.must(err)
}

// TestKeeper follows a hook from what keeps its Job from being created to the end of the Job.
func TestKeeper(t *testing.T) {
	w := newWorld(t)
	config := apitest.Start(t)
	k := NewKeeper(w.coordinator.BatchV1(), w.ours, slog.New(slog.DiscardHandler))
	policy := w.store(v1alpha1.HookRunning, "")
	problem := func() string {
		t.Helper()
		w.must(k.Write(t.Context(), policy, w.now))
		jobs, err := k.Read(t.Context(), policy, w.now)
		w.must(err)
		return jobs["leave-1"].Problem
	}
	if jobs, err := k.Read(t.Context(), policy, w.now); err != nil || len(jobs) > 0 {
		t.Errorf("before anything: %v, %v", jobs, err)
	}
	if got := problem(); !strings.Contains(got, `cronjobs.batch "leave" is forbidden`) || !strings.Contains(got, Grant("leave")) {
		t.Errorf("without consent: %s", got)
	}
	w.grant(config, "leave")
	w.grant(config, "absent")

	runs := func(change func(*batchv1.CronJob)) {
		t.Helper()
		from, err := w.admin.BatchV1().CronJobs(v1alpha1.HooksNamespace).Get(t.Context(), "leave", metav1.GetOptions{})
		w.must(err)
		change(from)
		_, err = w.admin.BatchV1().CronJobs(v1alpha1.HooksNamespace).Update(t.Context(), from, metav1.UpdateOptions{})
		w.must(err)
	}
	runs(func(from *batchv1.CronJob) { from.Spec.Suspend = ptr.To(false) })
	if got := problem(); got != "CronJob leave also runs by its schedule: set its spec.suspend to true; or take hook leave out of spec.hooks of UpgradePolicy cluster" {
		t.Errorf("with a CronJob that runs: %s", got)
	}
	runs(func(from *batchv1.CronJob) { from.Spec.Suspend = ptr.To(true) })
	absent := policy.DeepCopy()
	absent.Status.HookTurns[0].Hooks[0].CronJobName = "absent"
	w.must(k.Write(t.Context(), absent, w.now))
	if jobs, err := k.Read(t.Context(), absent, w.now); err != nil || jobs["leave-1"].Problem != "CronJob kubectl-upgrade-hooks/absent does not exist: create it, or take hook leave out of spec.hooks of UpgradePolicy cluster" || !jobs["leave-1"].Refused {
		t.Errorf("without the CronJob: %v, %v", jobs, err)
	}
	if got := problem(); got != "" {
		t.Fatalf("the Job is not created: %s", got)
	}
	all := w.jobs()
	if len(all) != 1 {
		t.Fatalf("there are %d Jobs", len(all))
	}
	job := all[0]
	for name, want := range map[string]string{HookAnnotation: "leave", WhenAnnotation: "BeforeNode", NodeAnnotation: "w1", UpgradeAnnotation: "u", VersionAnnotation: "v1.34.5", FromAnnotation: "v1.34.4", ReleaseAnnotation: "Node", OutcomeAnnotation: "", "example.com/a": "b"} {
		if got, there := job.Spec.Template.Annotations[name]; got != want || !there {
			t.Errorf("annotation %s of the pod is %q, want %q", name, got, want)
		}
	}
	if *job.Spec.ActiveDeadlineSeconds != 600 {
		t.Errorf("the Job may take %d s", *job.Spec.ActiveDeadlineSeconds)
	}

	// Another coordinator, and this one again, create no other Job.
	for _, again := range []*Keeper{k, NewKeeper(w.coordinator.BatchV1(), w.ours, slog.New(slog.DiscardHandler))} {
		w.must(again.Write(t.Context(), policy, w.now))
	}
	w.finish(&job, batchv1.JobFailed, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
	// Its own time limit deletes it. The finalizer keeps it.
	w.must(w.admin.BatchV1().Jobs(job.Namespace).Delete(t.Context(), job.Name, metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}))
	jobs, err := k.Read(t.Context(), policy, w.now)
	if got := jobs["leave-1"]; err != nil || !got.Ended || got.Succeeded || got.Reason != "BackoffLimitExceeded" || got.UID != string(job.UID) {
		t.Errorf("after the end: %+v, %v", got, err)
	}
	ended := w.store(v1alpha1.HookFailed, string(job.UID))
	later := w.now.Add(keptFor + time.Minute)
	_, err = k.Read(t.Context(), ended, w.now)
	w.must(err)
	w.must(k.Write(t.Context(), ended, w.now))
	if left := w.jobs(); len(left) != 1 {
		t.Error("the Job is gone at once")
	}
	_, err = k.Read(t.Context(), ended, later)
	w.must(err)
	w.must(k.Write(t.Context(), ended, later))
	if left := w.jobs(); len(left) != 0 {
		t.Errorf("after %s the Job is kept by %v", keptFor, left[0].Finalizers)
	}
	// A coordinator that knows only the old policy does not create it again.
	w.must(NewKeeper(w.coordinator.BatchV1(), w.ours, slog.New(slog.DiscardHandler)).Write(t.Context(), policy, w.now))
	if left := w.jobs(); len(left) != 0 {
		t.Error("an old policy had the Job created again")
	}
	// Nor one for which the hook runs: it was created, and is gone.
	w.store(v1alpha1.HookRunning, string(job.UID))
	w.must(NewKeeper(w.coordinator.BatchV1(), w.ours, slog.New(slog.DiscardHandler)).Write(t.Context(), policy, w.now))
	if left := w.jobs(); len(left) != 0 {
		t.Error("a Job that was deleted is created again")
	}
}

// TestReadSaysWhyNot checks that the hooks that run say so when their Jobs cannot be read. They do not count
// as gone.
func TestReadSaysWhyNot(t *testing.T) {
	away := kubernetes.NewForConfigOrDie(&rest.Config{Host: "127.0.0.1:1"})
	policy := &v1alpha1.UpgradePolicy{Status: v1alpha1.UpgradePolicyStatus{RememberedState: v1alpha1.RememberedState{HookTurns: []v1alpha1.HookTurn{{
		Hooks: []v1alpha1.HookRun{{Name: "leave", State: v1alpha1.HookRunning, Job: "leave-1", JobUID: "uid"}},
	}}}}}
	jobs, err := NewKeeper(away.BatchV1(), &kube.Kinds{}, slog.New(slog.DiscardHandler)).Read(t.Context(), policy, time.Now())
	if err == nil || !strings.Contains(jobs["leave-1"].Problem, "the Jobs of hooks cannot be read: ") {
		t.Errorf("%+v, %v", jobs, err)
	}
}

// TestExplainShowsTheCommand checks that the command is not in the part of the message that is cut off.
func TestExplainShowsTheCommand(t *testing.T) {
	name := strings.Repeat("a", 40)
	why := errors.New(`User "system:serviceaccount:kubectl-upgrade:coordinator" cannot get resource "cronjobs" in API group "batch" in the namespace "kubectl-upgrade-hooks"`)
	got, _ := explain(&v1alpha1.HookRun{CronJobName: name}, apierrors.NewForbidden(schema.GroupResource{Group: "batch", Resource: "cronjobs"}, name, why))
	if limit := 509; !strings.Contains(got[:min(limit, len(got))], Grant(name)) {
		t.Errorf("the first %d bytes lack the command: %s", limit, got)
	}
}

// TestCoordinatorStartsWhatTheCronJobSays tries what a stolen token of the coordinator could do with
// Jobs.
func TestCoordinatorStartsWhatTheCronJobSays(t *testing.T) {
	w := newWorld(t)
	config := apitest.Start(t)
	w.grant(config, "leave")
	_, err := w.admin.BatchV1().CronJobs(v1alpha1.HooksNamespace).Create(t.Context(), cronJob("other"), metav1.CreateOptions{})
	w.must(err)
	policy := w.store(v1alpha1.HookRunning, "")
	turn := &policy.Status.HookTurns[0]
	from, err := w.admin.BatchV1().CronJobs(v1alpha1.HooksNamespace).Get(t.Context(), "leave", metav1.GetOptions{})
	w.must(err)
	other, err := w.admin.BatchV1().CronJobs(v1alpha1.HooksNamespace).Get(t.Context(), "other", metav1.GetOptions{})
	w.must(err)
	jobs := w.coordinator.BatchV1().Jobs(v1alpha1.HooksNamespace)
	// Policies take effect a moment after they were created.
	for {
		forged := newJob(from, turn, &turn.Hooks[0])
		forged.Spec.Template.Spec.Containers[0].Image = "forged"
		if _, err := jobs.Create(t.Context(), forged, metav1.CreateOptions{DryRun: []string{"All"}}); err != nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	for name, change := range map[string]func(*batchv1.Job){
		"another image":    func(j *batchv1.Job) { j.Spec.Template.Spec.Containers[0].Image = "x" },
		"another command":  func(j *batchv1.Job) { j.Spec.Template.Spec.Containers[0].Command = []string{"sh"} },
		"another identity": func(j *batchv1.Job) { j.Spec.Template.Spec.ServiceAccountName = "admin" },
		"one container more": func(j *batchv1.Job) {
			j.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "x"}}
		},
		"the host's network":          func(j *batchv1.Job) { j.Spec.Template.Spec.HostNetwork = true },
		"another node":                func(j *batchv1.Job) { j.Spec.Template.Spec.NodeName = "cp1" },
		"many pods":                   func(j *batchv1.Job) { j.Spec.Parallelism = ptr.To[int32](100) },
		"many completions":            func(j *batchv1.Job) { j.Spec.Completions = ptr.To[int32](100) },
		"again and again":             func(j *batchv1.Job) { j.Spec.BackoffLimit = ptr.To[int32](100) },
		"for ever":                    func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = nil },
		"suspended":                   func(j *batchv1.Job) { j.Spec.Suspend = ptr.To(true) },
		"another replacement of pods": func(j *batchv1.Job) { j.Spec.PodReplacementPolicy = ptr.To(batchv1.Failed) },
		"kept":                        func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = nil },
		"a label of another workload": func(j *batchv1.Job) { j.Spec.Template.Labels["app"] = "shop" },
		"one label more":              func(j *batchv1.Job) { j.Spec.Template.Labels["role"] = "db" },
		"one annotation more":         func(j *batchv1.Job) { j.Spec.Template.Annotations["example.com/inject"] = "true" },
		"a CronJob without consent":   func(j *batchv1.Job) { j.OwnerReferences[0].Name, j.OwnerReferences[0].UID = other.Name, other.UID },
		"a former CronJob":            func(j *batchv1.Job) { j.OwnerReferences[0].UID = "gone" },
		"no CronJob":                  func(j *batchv1.Job) { j.OwnerReferences = nil },
		"two owners": func(j *batchv1.Job) {
			j.OwnerReferences = append(j.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x"})
		},
		"a Deployment as owner": func(j *batchv1.Job) { j.OwnerReferences[0].Kind = "Deployment" },
	} {
		forged := newJob(from, turn, &turn.Hooks[0])
		change(forged)
		if _, err := jobs.Create(t.Context(), forged, metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'kubectl-upgrade-hooks") {
			t.Errorf("a Job with %s: %v", name, err)
		}
	}
	for _, namespace := range []string{"default", v1alpha1.Namespace} {
		forged := newJob(from, turn, &turn.Hooks[0])
		forged.Namespace = namespace
		if _, err := w.coordinator.BatchV1().Jobs(namespace).Create(t.Context(), forged, metav1.CreateOptions{}); err == nil {
			t.Errorf("a Job was created in %s", namespace)
		}
	}
	job, err := jobs.Create(t.Context(), newJob(from, turn, &turn.Hooks[0]), metav1.CreateOptions{})
	w.must(err)
	for name, patch := range map[string]any{
		"suspend": map[string]any{"spec": map[string]any{"suspend": true}},
		"label":   map[string]any{"metadata": map[string]any{"labels": map[string]any{"x": "y"}}},
		"owner":   map[string]any{"metadata": map[string]any{"ownerReferences": nil}},
	} {
		data, err := json.Marshal(patch)
		w.must(err)
		if _, err := jobs.Patch(t.Context(), job.Name, types.MergePatchType, data, metav1.PatchOptions{}); err == nil {
			t.Errorf("patch %s of a Job was accepted", name)
		}
	}
	if _, err := jobs.Patch(t.Context(), job.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":[]}}`), metav1.PatchOptions{}); err != nil {
		t.Errorf("the finalizer cannot be removed: %v", err)
	}
}
