package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/former"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/snapshot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/source"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/manifest"
)

// reader reads and changes objects with the rights of the user.
type reader struct {
	kube   kubernetes.Interface
	kinds  *kube.Kinds
	access *rest.Config
	now    func() time.Time
	// answered reports whether the API server has answered a request.
	answered atomic.Bool
}

// manager is the name under which the plugin writes fields.
const manager = "kubectl-upgrade"

// unlimited removes client-go's limit of five requests a second, by which the pages of a large
// cluster waited for each other. The API server's priority and fairness protects it.
func unlimited(config *rest.Config) *rest.Config {
	config.QPS = -1
	return config
}

// reader connects to the cluster as the user, and notes that the cluster's version is to be compared.
func (p *program) reader() (*reader, error) {
	r, err := p.newReader()
	if err == nil && p.access == nil { // one of several is noted once it has answered
		p.reached.add(*p.cluster.Context, r)
	}
	return r, err
}

// newReader connects to the cluster as the user.
func (p *program) newReader() (*reader, error) {
	access, err := p.restConfig()
	if err != nil {
		return nil, err
	}
	r := &reader{access: access, now: p.now}
	access.Wrap(func(next http.RoundTripper) http.RoundTripper { return noting{next, &r.answered} })
	if r.kinds, err = kube.NewKinds(access); err != nil {
		return nil, err
	}
	r.kube, err = kubernetes.NewForConfig(access)
	return r, err
}

// pageSize is how many Nodes and pods are read at a time. An API server that is busy takes long for each
// answer, so they are few; a page of such objects is far below maxAnswer.
const pageSize = 2000

func (r *reader) clients() snapshot.Clients {
	return snapshot.Clients{Kube: r.kube, Ours: r.kinds, Access: r.access, PageSize: pageSize}
}

// read reads what people are shown of an upgrade.
func (r *reader) read(ctx context.Context) (clusterstate.Snapshot, error) {
	s, err := snapshot.ReadShown(ctx, r.clients(), r.now())
	if err != nil {
		return s, explain("reading the cluster", err)
	}
	return s, requireNames(s)
}

// schedules reads the MaintenanceSchedules.
func (r *reader) schedules(ctx context.Context) ([]v1alpha1.MaintenanceSchedule, error) {
	list, err := r.kinds.MaintenanceSchedules.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, explain("reading MaintenanceSchedules", err)
	}
	return list.Items, nil
}

// records reads the UpgradeRecords.
func (r *reader) records(ctx context.Context) ([]v1alpha1.UpgradeRecord, error) {
	list, err := r.kinds.UpgradeRecords.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, explain("reading UpgradeRecords", err)
	}
	return list.Items, nil
}

// policy reads the UpgradePolicy. It returns nil where there is none yet: then the
// defaults apply.
func (r *reader) policy(ctx context.Context) (*v1alpha1.UpgradePolicy, error) {
	policy, err := r.kinds.UpgradePolicies.Get(ctx, v1alpha1.PolicyName, metav1.GetOptions{})
	switch {
	case isMissing(err):
		return nil, nil
	case err != nil:
		return nil, explain("reading UpgradePolicy "+v1alpha1.PolicyName, err)
	}
	return policy, nil
}

// snapshotKind is the kind of a saved snapshot. Another shape gets another name, so that
// a file of the old shape is refused as a whole.
const snapshotKind = "ClusterSnapshot"

// earlierSnapshots are the names that snapshots of that shape had at first. They are read for ever.
var earlierSnapshots = manifest.Earlier{APIVersion: v1alpha1.GroupVersion.String(), Kinds: []string{snapshotKind, "FleetSnapshot"}, Convert: former.ConvertSnapshot}

// snapshotFile is a snapshot as it is saved.
type snapshotFile struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	TakenAt    time.Time `json:"takenAt"`
	clusterstate.Snapshot
}

// maxSnapshot limits how much is read of a snapshot: more than 10,000 nodes have.
const maxSnapshot = 512 << 20

// loadSnapshot reads a saved snapshot.
func loadSnapshot(file string) (shot snapshotFile, err error) {
	const hint = "`kubectl upgrade plan --save-snapshot FILE` writes one"
	in, err := os.Open(file)
	if err != nil {
		return shot, fmt.Errorf("reading a snapshot: %w; %s", err, hint)
	}
	defer in.Close()
	text, err := readAll(in, maxSnapshot)
	if err != nil {
		return shot, fmt.Errorf("reading a snapshot: %s: %w; %s", file, err, hint)
	}
	switch err := manifest.ReadSingle(text, v1alpha1.OutputVersion, snapshotKind, &shot, earlierSnapshots); {
	case err != nil && shot.Kind == "":
		return shot, fmt.Errorf("reading %s: it is no %s (%w); %s", file, snapshotKind, err, hint)
	case err != nil:
		// A field that is not understood may be the one that holds a node.
		return shot, fmt.Errorf("reading %s: %w; another version of kubectl-upgrade wrote it, or it was changed", file, err)
	case shot.TakenAt.IsZero():
		return shot, fmt.Errorf("reading %s: takenAt is missing; %s", file, hint)
	}
	if err := requireNames(shot.Snapshot); err != nil {
		return shot, fmt.Errorf("reading %s: %w", file, err)
	}
	shot.APIVersion, shot.Kind = v1alpha1.OutputVersion, snapshotKind
	return shot, nil
}

// save writes the snapshot into a file that people can share: it has no managed fields,
// as nothing reads them, and no password.
func (p *program) save(shot snapshotFile, file string) error {
	text, err := json.MarshalIndent(shot, "", " ")
	if err != nil {
		return err
	}
	text = credentials.ReplaceAll(text, []byte("$1"))
	return p.writeFile(file, 0o600, append(text, '\n'))
}

// credentials matches the user and password in an address.
var credentials = regexp.MustCompile(`(https?://)[^/@\s"]*@`)

// takeSnapshot reads the cluster with the rights of the user.
// checks says that runPreflight is going to be called for it.
func (p *program) takeSnapshot(ctx context.Context, checks bool) (shot snapshotFile, err error) {
	shot = p.newSnapshotFile()
	reader, err := p.reader()
	if err != nil {
		return shot, err
	}
	shot, err = p.snapshotFrom(ctx, reader, checks)
	if apierrors.IsForbidden(err) {
		return shot, fmt.Errorf(
			"%w; a plan takes what the coordinator reads: people who may read it can write it down with `kubectl upgrade plan --save-snapshot FILE`, for --snapshot FILE", err)
	}
	return shot, explain("reading the cluster", err)
}

// newSnapshotFile returns one without what is to be read now.
func (p *program) newSnapshotFile() snapshotFile {
	return snapshotFile{APIVersion: v1alpha1.OutputVersion, Kind: snapshotKind, TakenAt: p.now().UTC().Truncate(time.Second)}
}

// snapshotFrom reads the cluster of the reader with the rights of the user, as takeSnapshot does.
func (p *program) snapshotFrom(ctx context.Context, reader *reader, checks bool) (shot snapshotFile, err error) {
	shot = p.newSnapshotFile()
	p.lists = &snapshot.Lists{}
	clients := reader.clients()
	if clients.Lists = p.lists; checks {
		clients.BeginChecks(ctx)
	}
	if shot.Snapshot, err = snapshot.Read(ctx, clients); err != nil {
		return shot, err
	}
	if err := requireNames(shot.Snapshot); err != nil {
		return shot, err
	}
	p.noteName(shot.Policy)
	shot.Source = p.readSource(ctx, shot.Policy, nil)
	return shot, nil
}

// upgradeTypes reads types of upgrade, in upper or lower case.
func upgradeTypes(flag string, words []string) ([]v1alpha1.UpgradeType, error) {
	var types []v1alpha1.UpgradeType
	for _, word := range words {
		known := v1alpha1.UpgradeTypes
		i := slices.IndexFunc(known, func(t v1alpha1.UpgradeType) bool { return strings.EqualFold(string(t), word) })
		if i < 0 {
			return nil, fmt.Errorf("--%s: %q is not Patch, Minor, Reboot, Rollback or Certificates", flag, word)
		}
		if !slices.Contains(types, known[i]) {
			types = append(types, known[i])
		}
	}
	return types, nil
}

// sourceTimeout is how long reading the index of images may take.
const sourceTimeout = 5 * time.Second

// readSource reads the index of images that the coordinator reads. problem is what went
// wrong with the policy, if anything. What goes wrong is the source's problem, and only
// a warning here: the coordinator may still reach it.
func (p *program) readSource(ctx context.Context, policy *v1alpha1.UpgradePolicy, problem error) clusterstate.Source {
	if problem != nil {
		return p.noSource(problem.Error())
	}
	var from v1alpha1.ImageSource
	if policy != nil {
		from = policy.Spec.Source
	}
	from.URL = cmp.Or(from.URL, source.Default)
	found := p.sources.of(ctx, from)
	if found.Problem.Reason == v1alpha1.ReasonSourceUnavailable {
		return p.noSource(found.Problem.Message)
	}
	return found
}

// noSource warns, and returns a source without an index.
func (p *program) noSource(message string) clusterstate.Source {
	fmt.Fprintf(p.ErrOut, "warning: could not read the index of images from this machine: %s\n", oneLine(message))
	return clusterstate.Source{Problem: clusterstate.Hold{Reason: v1alpha1.ReasonSourceUnavailable, Message: message}}
}
