package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	_ "time/tzdata" // schedules name time zones, and the container image has only this program

	"github.com/spf13/cobra"
	_ "golang.org/x/crypto/x509roots/fallback" // CA certificates for https sources
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/client"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/coordinator"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/watchdog"
)

// coordinatorOptions are the flags of `node-agent coordinator`.
type coordinatorOptions struct {
	needsPolicy bool
	kubeconfig  string
	leaderElect bool
}

func newCoordinatorCommand() *cobra.Command {
	var o coordinatorOptions
	command := &cobra.Command{
		Use:   "coordinator",
		Short: "Decide for the whole cluster when each node is upgraded",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return runCoordinator(command.Context(), o)
		},
	}
	command.Flags().BoolVar(&o.needsPolicy, "require-policy", false, "wait for an UpgradePolicy, instead of creating one if it is missing")
	command.Flags().StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig; default: the pod's service account")
	command.Flags().BoolVar(&o.leaderElect, "leader-elect", true, "act only while this replica holds the Lease \"coordinator\"")
	return command
}

func runCoordinator(ctx context.Context, o coordinatorOptions) error {
	access, err := clusterAccess(o.kubeconfig)
	if err != nil {
		return err
	}
	kube, err := kubernetes.NewForConfig(access)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	ours, err := client.New(access)
	if err != nil {
		return err
	}
	log := slog.Default()
	events, stop := recorder(kube)
	defer stop()
	c := coordinator.New(coordinator.Clients{
		RequirePolicy: o.needsPolicy,

		Kube: kube, Ours: ours, Events: events, Log: log, Access: access, Check: preflight.Check,
		Watchdog: watchdog.Exiting("the coordinator"),
	})
	log.Info("coordinator starts")
	if !o.leaderElect {
		return c.Run(ctx)
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("naming this replica: %w", err)
	}
	return coordinator.Lead(ctx, kube, host+"_"+string(uuid.NewUUID()), log, c.Run)
}

// clusterAccess returns the configuration of the coordinator's clients. Its limits
// allow writing the NodeUpgrades of a few thousand nodes within a minute.
func clusterAccess(kubeconfig string) (*rest.Config, error) {
	access, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("finding the API server: %w", err)
	}
	access.QPS, access.Burst = 100, 200
	access.UserAgent = "kubectl-upgrade-coordinator"
	return access, nil
}

func recorder(kube kubernetes.Interface) (record.EventRecorder, func()) {
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: kube.CoreV1().Events("")})
	source := corev1.EventSource{Component: "kubectl-upgrade-coordinator"}
	return broadcaster.NewRecorder(runtime.NewScheme(), source), broadcaster.Shutdown
}
