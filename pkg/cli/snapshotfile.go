package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	strictjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/snapshot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/source"
)

// snapshotKind is how a saved snapshot calls itself.
const snapshotKind = "UpgradeSnapshot"

// snapshotFile is a snapshot as it is saved.
type snapshotFile struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	TakenAt    time.Time `json:"takenAt"`
	plan.Snapshot
}

func loadSnapshot(file string) (shot snapshotFile, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return shot, fmt.Errorf("reading a snapshot: %w; `kubectl upgrade plan --save-snapshot FILE` writes one", err)
	}
	strict, err := strictjson.UnmarshalStrict(text, &shot)
	if err != nil {
		return shot, fmt.Errorf("reading %s: %w", file, err)
	}
	if shot.APIVersion != v1alpha1.GroupVersion.String() || shot.Kind != snapshotKind || shot.TakenAt.IsZero() {
		return shot, fmt.Errorf("reading %s: it is no %s; `kubectl upgrade plan --save-snapshot FILE` writes one", file, snapshotKind)
	}
	if len(strict) > 0 {
		// What is not understood may be what keeps a node back.
		return shot, fmt.Errorf("reading %s: %w; another version of kubectl-upgrade wrote it, or somebody changed it", file, strict[0])
	}
	return shot, nil
}

func (shot snapshotFile) save(file string) error {
	text, err := json.MarshalIndent(shot, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// takeSnapshot reads the cluster as the user.
func (p *program) takeSnapshot(ctx context.Context) (shot snapshotFile, err error) {
	shot = snapshotFile{APIVersion: v1alpha1.GroupVersion.String(), Kind: snapshotKind, TakenAt: p.now().UTC().Truncate(time.Second)}
	reader, err := p.reader()
	if err != nil {
		return shot, err
	}
	config, err := p.cluster.ToRESTConfig()
	if err != nil {
		return shot, err
	}
	leases, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return shot, err
	}
	daemonSets, err := appsv1client.NewForConfig(config)
	if err != nil {
		return shot, err
	}
	shot.Snapshot, err = snapshot.Read(ctx, snapshot.Clients{Core: reader.core, DaemonSets: daemonSets, Leases: leases, Ours: reader.kinds})
	if apierrors.IsForbidden(err) {
		return shot, fmt.Errorf("%w; a plan takes what the coordinator reads: whoever may read it can write it down with `kubectl upgrade plan --save-snapshot FILE`, for --snapshot FILE", err)
	}
	if err != nil {
		return shot, explain("reading the cluster", err)
	}
	shot.Source, shot.Strategy = p.readSource(ctx, reader)
	return shot, nil
}

// sourcePatience is how long the index of images may take to come.
const sourcePatience = 5 * time.Second

// readSource reads the index that the coordinator reads, and the strategy for
// the upgrades that it makes. What goes wrong is the source's trouble, and said
// aloud, since the coordinator may be luckier.
func (p *program) readSource(ctx context.Context, reader *reader) (plan.Source, v1alpha1.Strategy) {
	var config struct {
		Source struct {
			URL string `json:"url"`
		} `json:"source"`
		Strategy v1alpha1.Strategy `json:"strategy"`
	}
	config.Source.URL = source.Default
	stored, err := reader.core.ConfigMaps(v1alpha1.Namespace).Get(ctx, "coordinator", metav1.GetOptions{})
	if err == nil {
		err = yaml.Unmarshal([]byte(stored.Data["config.yaml"]), &config)
	}
	if err != nil {
		return p.noSource(fmt.Sprintf("reading the coordinator's configuration: %v", err)), config.Strategy
	}
	poller, err := source.NewPoller(config.Source.URL)
	if err != nil {
		return p.noSource(err.Error()), config.Strategy
	}
	ctx, cancel := context.WithTimeout(ctx, sourcePatience)
	defer cancel()
	found := poller.Look(ctx)
	if found.Trouble.Reason == v1alpha1.ReasonSourceUnavailable {
		found = p.noSource(found.Trouble.Message)
	}
	return found, config.Strategy
}

func (p *program) noSource(message string) plan.Source {
	fmt.Fprintf(p.ErrOut, "warning: what images are on offer is not known here: %s\n", oneLine(message))
	return plan.Source{Trouble: plan.Hold{Reason: v1alpha1.ReasonSourceUnavailable, Message: message}}
}
