package extension

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/hooks"
	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/management"
	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/watch"
	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/workload"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/metricsserver"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/program"
)

// options are the flags.
type options struct {
	kubeconfig  string
	address     string
	metrics     string
	certFolder  string
	clientCA    string
	onUncovered string
	timeout     time.Duration
	verbose     bool
}

// Intervals of what is done without being asked.
const (
	askAgain = 10 * time.Second
	sweep    = 10 * time.Minute
	// sweepTimeout is how long a cluster may take that is not waited for.
	sweepTimeout = 30 * time.Second
)

// NewCommand returns the command that runs the extension, which has that version.
func NewCommand(version string) *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:   "capi-extension",
		Short: "Let Cluster API upgrade machines in place by kubectl-upgrade",
		Long: `Let Cluster API upgrade machines in place by kubectl-upgrade.

It runs in Cluster API's management cluster and answers the hooks CanUpdateMachine,
CanUpdateMachineSet, UpdateMachine, BeforeClusterUpgrade, BeforeControlPlaneUpgrade
and BeforeWorkersUpgrade. In the workload clusters it asks for upgrades of nodes, and
their coordinators decide when a node may go.`,
		Version:      version,
		SilenceUsage: true,
		Args:         cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return run(command.Context(), version, o)
		},
	}
	flags := command.Flags()
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the management cluster; default: the pod's service account")
	flags.StringVar(&o.address, "address", ":9443", "address at which to answer Cluster API over TLS")
	flags.StringVar(&o.metrics, "metrics-address", ":8443", "address at which to serve over TLS /readyz, and /metrics to clients that may get it; empty: nowhere")
	flags.StringVar(&o.certFolder, "cert-dir", "/etc/capi-extension", "folder with tls.crt and tls.key, which are read again when they change")
	flags.StringVar(&o.clientCA, "client-ca", "", "PEM file with the CA of the only clients that are answered; default: any client is")
	flags.StringVar(&o.onUncovered, "on-uncovered", string(hooks.Stop), "what happens to machines when more changes than their version: Stop, or Replace; the annotation "+
		hooks.OnUncoveredAnnotation+" of a KubeadmControlPlane or MachineDeployment counts more")
	flags.DurationVar(&o.timeout, "timeout", 2*time.Second, "how long an answer may take; an API server of a workload cluster that is slower counts as one that does not answer")
	flags.BoolVar(&o.verbose, "verbose", false, "log each answer")
	return command
}

// run serves until ctx ends.
func run(ctx context.Context, version string, o options) error {
	switch hooks.OnUncovered(o.onUncovered) {
	case hooks.Stop, hooks.Replace:
	default:
		return fmt.Errorf("--on-uncovered=%s: it has to be %s or %s", o.onUncovered, hooks.Stop, hooks.Replace)
	}
	level := slog.LevelInfo
	if o.verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	crlog.SetLogger(logr.FromSlogHandler(log.Handler()))
	tlsConfig, err := tlsConfig(o, log)
	if err != nil {
		return err
	}
	access, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return fmt.Errorf("finding the management cluster's API server: %w", err)
	}
	access.QPS, access.Burst = 100, 200
	access.UserAgent = "kubectl-upgrade-capi-extension"
	kube.RefuseRedirects(access)
	managed, err := client.NewWithWatch(access, client.Options{Scheme: management.Scheme(), Mapper: management.Mapper()})
	if err != nil {
		return fmt.Errorf("making a client for the management cluster: %w", err)
	}

	clusters := &workload.Clusters{Management: managed, Timeout: o.timeout}
	again := &watch.Again{Management: managed, Now: time.Now, Log: log, Timeout: o.timeout}
	machines := &watch.Machines{Management: managed, Open: clusters.Open, Log: log, Timeout: sweepTimeout}
	sweeper := &watch.Sweep{Management: managed, Open: clusters.Open, Used: clusters.Used, Log: log, Timeout: sweepTimeout}
	measured := newObserved(version, again.Waiting)
	server, err := hooks.NewServer(&hooks.Extension{
		Management: managed, Open: clusters.Open, OnUncovered: hooks.OnUncovered(o.onUncovered), Remember: again.Remember, Now: time.Now, Log: log,
	}, o.timeout, measured.observe)
	if err != nil {
		return err
	}

	var parts sync.WaitGroup
	defer parts.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	parts.Go(func() { machines.Run(ctx) })
	parts.Go(func() { again.Run(ctx, askAgain) })
	parts.Go(func() { sweeper.Run(ctx, sweep) })
	if o.metrics != "" {
		served, err := metricsServer(o, access, measured, machines.Synced, log)
		if err != nil {
			return err
		}
		parts.Go(func() { served.Run(ctx) })
	}
	return serve(ctx, o.address, tlsConfig, server, log)
}

// metricsServer serves metrics as the coordinator does, with the certificate for Cluster API.
func metricsServer(o options, access *rest.Config, measured *observed, ready func() bool, log *slog.Logger) (*metricsserver.Server, error) {
	review, err := metricsserver.NewReviewer(access, log)
	if err != nil {
		return nil, err
	}
	return metricsserver.New(metricsserver.Config{
		Address: o.metrics, CertFile: o.certFile(), KeyFile: o.keyFile(), Metrics: measured, Review: review, Ready: ready, Log: log,
	})
}

func (o options) certFile() string { return filepath.Join(o.certFolder, "tls.crt") }
func (o options) keyFile() string  { return filepath.Join(o.certFolder, "tls.key") }

func tlsConfig(o options, log *slog.Logger) (*tls.Config, error) {
	cert := &program.Certificate{CertFile: o.certFile(), KeyFile: o.keyFile()}
	if _, err := cert.Get(time.Now()); err != nil {
		return nil, err
	}
	config := &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			current, err := cert.Get(time.Now())
			if current != nil {
				return current, nil
			}
			return nil, err
		},
		NextProtos: []string{"http/1.1"}, // HTTP/2 would allow many requests on each connection
	}
	if o.clientCA == "" {
		log.Warn("any client that reaches the address is answered: --client-ca has Cluster API alone answered", "address", o.address)
		return config, nil
	}
	pem, err := os.ReadFile(o.clientCA)
	if err != nil {
		return nil, fmt.Errorf("--client-ca: %w", err)
	}
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
	if !config.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--client-ca: %s has no certificate", o.clientCA)
	}
	return config, nil
}

const (
	// maxConnections is how many connections are open at a time, and maxOfClient how many of them are
	// one client's: a controller of Cluster API has one for each request that it waits for.
	maxConnections = 128
	maxOfClient    = 64
)

// closeTimeout is how long open answers may take when the program ends.
const closeTimeout = 5 * time.Second

// serve listens until ctx ends.
func serve(ctx context.Context, address string, config *tls.Config, handler http.Handler, log *slog.Logger) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	server := &http.Server{
		Handler: handler, TLSConfig: config, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 15 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 8 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), // a client's broken handshake
	}
	log.Info("listening", "address", listener.Addr().String())
	ended := make(chan error, 1)
	go func() { ended <- server.ServeTLS(metricsserver.Bound(listener, maxConnections, maxOfClient), "", "") }()
	select {
	case err := <-ended:
		return fmt.Errorf("serving at %s: %w", address, err)
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := server.Shutdown(closing); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("closing %s: %w", address, err)
	}
	return nil
}
