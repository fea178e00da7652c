package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/program"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apiserver"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/pretend/nodes"
)

// cluster is one cluster.
type cluster struct {
	*world
	name        string
	first       bool // the one in which people request upgrades
	server      *apiserver.Server
	coordinator *apiserver.Process
	admin       kubernetes.Interface
	ours        *kube.Kinds
	authority   []byte
}

// start starts the cluster, and its agents, which run until agents ends.
func (c *cluster) start(ctx, agents context.Context) (err error) {
	var flags []string
	if c.address != "" {
		flags = []string{"--advertise-address=" + c.address}
	}
	if c.server, err = apiserver.New(ctx, c.servers.path, flags...); err != nil {
		return err
	}
	if c.authority, err = os.ReadFile(c.server.Config.CAFile); err != nil {
		return err
	}
	if c.admin, err = kubernetes.NewForConfig(c.server.Config); err != nil {
		return err
	}
	if c.ours, err = kube.NewKinds(c.server.Config); err != nil {
		return err
	}
	if err := c.install(ctx); err != nil {
		return err
	}
	all, err := nodes.New(ctx, c.nodesConfig())
	if err != nil {
		return err
	}
	if err := c.startCoordinator(ctx); err != nil {
		return err
	}
	c.agents.Go(func() { all.Run(agents) })
	if err := c.awaitReports(ctx); err != nil {
		return err
	}
	return c.makeRollouts(ctx)
}

// makeRollouts writes what the controllers of workloads would: the coordinator runs, and an agent on each node.
func (c *cluster) makeRollouts(ctx context.Context) error {
	apps, name := c.admin.AppsV1(), "node-agent"
	agents := fmt.Sprintf(`{"status":{"currentNumberScheduled":%[1]d,"desiredNumberScheduled":%[1]d,"numberReady":%[1]d,"numberMisscheduled":0}}`, c.nodes)
	if _, err := apps.DaemonSets(v1alpha1.Namespace).Patch(ctx, name, types.MergePatchType, []byte(agents), metav1.PatchOptions{}, "status"); err != nil {
		return fmt.Errorf("writing the status of DaemonSet %s: %w", name, err)
	}
	const coordinator = `{"status":{"replicas":1,"readyReplicas":1,"availableReplicas":1,"updatedReplicas":1}}`
	if _, err := apps.Deployments(v1alpha1.Namespace).Patch(ctx, "coordinator", types.MergePatchType, []byte(coordinator), metav1.PatchOptions{}, "status"); err != nil {
		return fmt.Errorf("writing the status of Deployment coordinator: %w", err)
	}
	return nil
}

func (c *cluster) nodesConfig() nodes.Config {
	takes := func(d time.Duration) time.Duration { return time.Duration(float64(d) / c.speed) }
	return nodes.Config{
		API: c.server.Config, Number: c.nodes, Name: nodeName, Pods: 2,
		Verb: takes(time.Second), Reboot: takes(4 * time.Second), Pod: takes(time.Second), Guard: takes(8 * time.Second),
		Broken: c.images.isBroken, Reschedule: true, Version: program.Version(version),
		Log: func(node, what string) { c.happened(c.name, node, what) },
	}
}

func nodeName(i int) string {
	if i == 0 {
		return "cp1"
	}
	return fmt.Sprintf("w%d", i)
}

// install applies manifests/ as a user does, and creates a policy and a schedule.
func (c *cluster) install(ctx context.Context) error {
	kubectl, err := c.servers.path("kubectl")
	if err != nil {
		return err
	}
	file := filepath.Join(c.folder, c.name+".kubeconfig")
	config := api.NewConfig()
	c.addTo(config)
	config.CurrentContext = c.name
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		return fmt.Errorf("writing a kubeconfig: %w", err)
	}
	cmd := exec.CommandContext(ctx, kubectl, "apply", "--server-side", "-k", "manifests", //nolint:gosec // paths of this program
		"--kubeconfig", file, "--cache-dir", filepath.Join(c.folder, c.name+".cache"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl apply -k manifests: %w: %s", err, last(strings.Split(string(out), "\n")))
	}
	policy := &v1alpha1.UpgradePolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}}
	policy.Spec.Mode, policy.Spec.Automatic = v1alpha1.ModeManage, []v1alpha1.AutomaticUpgrade{}
	policy.Spec.Source = v1alpha1.ImageSource{URL: c.images.index, TransportPolicy: v1alpha1.TransportAllowHTTP, IntervalSeconds: 1}
	policy.Spec.Strategy.SettleSeconds, policy.Spec.Strategy.MinReadySeconds = ptr.To[int32](1), ptr.To[int32](0)
	if !c.first {
		policy.Spec.Automatic = []v1alpha1.AutomaticUpgrade{{Type: v1alpha1.TypePatch}}
		policy.Spec.Strategy.MaxUnavailable = ptr.To(intstr.FromInt32(2))
	}
	day := time.Now().UTC().Truncate(24 * time.Hour)
	schedule := &v1alpha1.MaintenanceSchedule{ObjectMeta: metav1.ObjectMeta{Name: "always"}}
	schedule.Spec.TimeZone = "UTC"
	schedule.Spec.MaintenanceWindows = []v1alpha1.MaintenanceWindow{{Period: v1alpha1.Period{
		Name: "day", StartTime: metav1.NewTime(day), EndTime: metav1.NewTime(day.Add(24 * time.Hour)), Recurrence: "FREQ=DAILY",
	}}}
	return c.retry(ctx, "the API server serves our kinds", func() error {
		if _, err := c.ours.MaintenanceSchedules.Apply(ctx, schedule, "play", ""); err != nil {
			return err
		}
		_, err := c.ours.UpgradePolicies.Apply(ctx, policy, "play", "")
		return err
	})
}

// startCoordinator starts a coordinator with its ServiceAccount's rights.
func (c *cluster) startCoordinator(ctx context.Context) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "coordinator-"}}
	pod.Spec = corev1.PodSpec{ServiceAccountName: "coordinator", Containers: []corev1.Container{{Name: "coordinator", Image: "none"}}}
	pod, err := c.admin.CoreV1().Pods(v1alpha1.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	token, err := c.admin.CoreV1().ServiceAccounts(v1alpha1.Namespace).CreateToken(ctx, "coordinator",
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			ExpirationSeconds: ptr.To[int64](7 * 86400),
			BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
		}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	config := api.NewConfig()
	c.addTo(config)
	config.CurrentContext, config.AuthInfos[c.name] = c.name, &api.AuthInfo{Token: token.Status.Token}
	folder := filepath.Join(c.folder, c.name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	file := filepath.Join(folder, "coordinator.kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		return err
	}
	port, err := apiserver.FreePort()
	if err != nil {
		return err
	}
	c.coordinator, err = apiserver.Start(folder, filepath.Join(c.bin, "coordinator"), "--kubeconfig", file, "--metrics-address", "127.0.0.1:"+port)
	return err
}

// awaitReports waits until every agent has reported its node, and the coordinator has read the source.
func (c *cluster) awaitReports(ctx context.Context) error {
	var there int
	err := c.coordinator.Await(ctx, func() bool {
		list, err := c.ours.NodeInventories.List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return false
		}
		there = len(list.Items)
		policy, err := c.ours.UpgradePolicies.Get(ctx, v1alpha1.PolicyName, metav1.GetOptions{})
		return err == nil && there == c.nodes && policy.Status.CoordinatorVersion != ""
	})
	if err != nil {
		return fmt.Errorf("%d of %d nodes have reported: %w", there, c.nodes, err)
	}
	return nil
}

// retry repeats what fails, for half a minute at most.
func (c *cluster) retry(ctx context.Context, until string, do func() error) error {
	for deadline := time.Now().Add(30 * time.Second); ; pause(ctx, 100*time.Millisecond) {
		err := do()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waiting until %s: %w", until, err)
		}
	}
}

// addTo adds the cluster to a kubeconfig, for an administrator.
func (c *cluster) addTo(file *api.Config) {
	file.Clusters[c.name] = &api.Cluster{Server: c.server.Config.Host, CertificateAuthorityData: c.authority}
	file.AuthInfos[c.name] = &api.AuthInfo{Token: c.server.Config.BearerToken}
	file.Contexts[c.name] = &api.Context{Cluster: c.name, AuthInfo: c.name}
}

func (c *cluster) stop() {
	if c.coordinator != nil {
		c.coordinator.Stop()
	}
	if c.server != nil {
		c.server.Stop()
	}
}
