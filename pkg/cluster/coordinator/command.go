package coordinator

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/gate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/metrics"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/metricsserver"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/program"
)

// options are the flags.
type options struct {
	needsPolicy bool
	kubeconfig  string
	leaderElect bool
	metrics     metricsserver.Config
}

// NewCommand returns the command that runs a coordinator, which has that version.
func NewCommand(version string) *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:          "coordinator",
		Short:        "Decide for the whole cluster when each node is upgraded",
		Version:      version,
		SilenceUsage: true,
		Args:         cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return runProgram(command.Context(), version, o)
		},
	}
	command.Flags().BoolVar(&o.needsPolicy, "require-policy", false, "wait for an UpgradePolicy, instead of creating one if it is missing")
	command.Flags().StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig; default: the pod's service account")
	command.Flags().BoolVar(&o.leaderElect, "leader-elect", true, "act only while this replica holds the Lease \"coordinator\"")
	command.Flags().StringVar(&o.metrics.Address, "metrics-address", ":8443", "address at which to serve metrics over TLS; empty: nowhere")
	command.Flags().StringVar(&o.metrics.CertFile, "metrics-cert", "",
		"PEM file with the certificate for metrics, which is read again when it changes; default, and while there is no such file: a certificate made at the start")
	command.Flags().StringVar(&o.metrics.KeyFile, "metrics-key", "", "PEM file with that certificate's key")
	command.MarkFlagsRequiredTogether("metrics-cert", "metrics-key")
	command.AddCommand(program.NewReadyCommand(readyDir, "coordinator"))
	return command
}

// readyDir has the file that exists while the coordinator is ready. Each pod has a file system of its own at /dev/shm; with a
// volume for it, kubectl drain would not evict the pod.
const readyDir = "/dev/shm/coordinator"

// runProgram connects to the cluster, serves metrics, and coordinates while this replica leads.
func runProgram(ctx context.Context, version string, o options) error {
	access, err := clusterAccess(o.kubeconfig)
	if err != nil {
		return err
	}
	var clock kube.Clock
	access.Wrap(clock.Wrap)
	clients, err := kubernetes.NewForConfig(access)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	ours, err := kube.NewKinds(access)
	if err != nil {
		return err
	}
	log := slog.Default()
	ready, err := program.NewReady(readyDir)
	if err != nil {
		return err
	}
	events, stop := eventRecorder(clients)
	defer stop()
	observed := metrics.New(version, time.Now)
	observed.CountRequests()
	server, err := serveMetrics(ctx, o.metrics, observed, access, log)
	if err != nil {
		return err
	}
	gates, err := gate.NewClients(access, clients.CoreV1())
	if err != nil {
		return err
	}
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	once := rest.CopyConfig(access)
	once.Dial = nil // an apiserver that is away is not waited for
	c := New(Clients{
		RequirePolicy: o.needsPolicy,

		Kube: clients, Ours: ours, Events: events, Log: log, Access: once, Check: preflight.Check,
		Watchdog: program.ExitingWatchdog("the coordinator"), Metrics: observed, MetricsProblem: server.Problem, Version: version, ClockAhead: clock.Ahead,
		AskGate: gates.Ask, SendNotice: []string{filepath.Join(filepath.Dir(executable), "send-notice")},
	})
	log.Info("coordinator starts")
	if !o.leaderElect {
		return c.Run(ctx)
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("naming this replica: %w", err)
	}
	// A pod that starts again after a reboot, as most do, is the same replica: it need not wait until
	// its Lease ends.
	identity := host + "_" + cmp.Or(os.Getenv("POD_NAME"), string(uuid.NewUUID()))
	return Lead(ctx, clients, identity, log, func(leader string) {
		if err := ready.Set(); err != nil { // it is told who leads, so it has read the API
			log.Error("the kubelet's probe will not find that the coordinator is ready", "error", err)
		}
		// The replicas use the node's network: of two on one node, the leader serves.
		server.Listen(leader == identity || !strings.HasPrefix(leader, host+"_"))
	}, c.Run)
}

// serveMetrics serves metrics until ctx ends.
func serveMetrics(ctx context.Context, config metricsserver.Config, observed *metrics.Metrics, access *rest.Config, log *slog.Logger) (*metricsserver.Server, error) {
	review, err := metricsserver.NewReviewer(access, log)
	if err != nil {
		return nil, err
	}
	config.Metrics, config.Review, config.Log = observed.Handler(), review, log
	server, err := metricsserver.New(config)
	if err != nil {
		return nil, err
	}
	if config.Address != "" {
		go server.Run(ctx)
	}
	return server, nil
}

// clusterAccess returns the configuration of the coordinator's clients. Its limits
// allow writing the NodeUpgrades of ten thousand nodes within a minute.
func clusterAccess(kubeconfig string) (*rest.Config, error) {
	access, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("finding the API server: %w", err)
	}
	access.QPS, access.Burst = 200, 400
	access.UserAgent = "kubectl-upgrade-coordinator"
	access.Dial = redial
	kube.RefuseRedirects(access)
	return access, nil
}

func eventRecorder(clients kubernetes.Interface) (record.EventRecorder, func()) {
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: clients.CoreV1().Events("")})
	source := corev1.EventSource{Component: "kubectl-upgrade-coordinator"}
	return broadcaster.NewRecorder(runtime.NewScheme(), source), broadcaster.Shutdown
}
