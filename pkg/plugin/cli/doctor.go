package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/spf13/cobra"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/snapshot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/source"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/doctor"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// diagnosis is `kubectl upgrade doctor` with its arguments.
type diagnosis struct {
	*program
	output
	from string // the source of images to read where there is no policy

	reader *reader
}

func newDoctor(p *program) *cobra.Command {
	d := &diagnosis{program: p, output: output{nameless: "a diagnosis has no name"}}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check whether this cluster can be managed",
		Long: `Checks whether this cluster can be managed, and whether what is installed is well: the
versions of the API server, plugin, coordinator, agents and CustomResourceDefinitions,
nodes without a sysext image, the sysupdate timer, other programs that reboot nodes, your
rights, the source of images, clocks, an upgrade that failed, windows and what holds them
closed, and the checks that the coordinator makes. It changes nothing: what policies and
webhooks would refuse is asked by dry runs. It works before the installation, too, and
says then what cannot be known without agents.

Each line is ok, unknown, warn or fail, with what to do. The exit code is 1 if a line is
fail, or if the cluster cannot be read; else 0. -o yaml prints the same for a bug report,
with the versions on nodes; passwords and tokens are removed from every text.`,
		Example: `  kubectl upgrade doctor
  kubectl upgrade doctor --source https://mirror.example/kubernetes/
  kubectl upgrade doctor -o yaml > doctor.yaml`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return inOrder(cmd, d) },
	}
	d.addTo(cmd)
	cmd.Flags().StringVar(&d.from, "source", source.Default, "Before the installation: the folder of images that is to be used. Default: "+source.Default)
	cmd.Flags().Lookup("source").DefValue = "" // whose quotes and brackets would make the line too long
	return cmd
}

// doctorTimeout is how long reading the cluster may take.
const doctorTimeout = time.Minute

// validate refuses nothing: whether --source is one is found out by reading it.
func (d *diagnosis) validate() error { return nil }

func (d *diagnosis) complete(*cobra.Command) (err error) {
	d.reader, err = d.program.reader()
	return err
}

func (d *diagnosis) run(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	facts, err := d.facts(limited)
	if err != nil {
		return err
	}
	made := doctor.Check(facts)
	if d.forPeople() {
		d.noteName(facts.Policy)
		options := d.drawing()
		options.Wide = d.format() == "wide"
		_, err = io.WriteString(d.drawn, render.Diagnosis(made, options))
	} else {
		err = d.print(d.program, made)
	}
	if err == nil && made.Verdict == doctor.Fail {
		err = errors.New("this cluster cannot be managed as it is: see the lines with fail")
	}
	return err
}

// examination reads the facts of `kubectl upgrade doctor`.
type examination struct {
	*diagnosis
	ctx   context.Context
	facts doctor.Facts
}

// facts reads what the user may read. It returns an error only if the API server does not
// answer, or if Nodes cannot be read.
func (d *diagnosis) facts(ctx context.Context) (doctor.Facts, error) {
	e := &examination{diagnosis: d, ctx: ctx, facts: doctor.Facts{Now: d.now(), Plugin: d.version}}
	if err := e.readServer(); err != nil {
		return e.facts, explain("reading the version of the API server", err)
	}
	e.readRights()
	e.readKinds()
	if err := e.readChecks(); err != nil {
		return e.facts, explain("reading the cluster for the checks", err)
	}
	if e.facts.Installed() {
		e.readPrograms()
	}
	if e.facts.Policy == nil {
		read := source.NewPoller(v1alpha1.ImageSource{URL: d.from, TransportPolicy: v1alpha1.TransportAllowHTTP})
		limited, cancel := context.WithTimeout(ctx, sourceTimeout)
		defer cancel()
		e.facts.SourceProblem = read.Read(limited).Problem.Message
	}
	e.readClocks()
	return e.facts, nil
}

// readServer reads the API server's version and clock, in one answer.
func (e *examination) readServer() error {
	client, err := rest.HTTPClientFor(e.reader.access)
	if err != nil {
		return err
	}
	address, _, err := rest.DefaultServerUrlFor(e.reader.access)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(e.ctx, http.MethodGet, address.JoinPath("version").String(), nil)
	if err != nil {
		return err
	}
	sent := e.now()
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	took := e.now().Sub(sent)
	var info apimachineryversion.Info
	if json.NewDecoder(io.LimitReader(response.Body, 64<<10)).Decode(&info) == nil {
		e.facts.Server = info.GitVersion
	}
	if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		// The header is cut to the second.
		ahead := date.Add(time.Second / 2).Sub(sent.Add(took / 2))
		e.facts.Clock = &ahead
	}
	return nil
}

// readChecks runs the checks of the upgrade that is being carried out: its apiservers are of
// two versions on purpose. Without one it runs those that a Reboot of every node would be held by,
// which depend on no version.
func (e *examination) readChecks() error {
	clients := snapshot.Clients{Kube: e.reader.kube, Access: e.reader.access}
	upgrade := v1alpha1.ClusterUpgrade{Spec: v1alpha1.ClusterUpgradeSpec{Type: v1alpha1.TypeReboot, RebootPolicy: v1alpha1.RebootAlways}}
	if e.facts.Installed() {
		clients.Ours = e.reader.kinds
		list, err := clients.Ours.ClusterUpgrades.List(e.ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, u := range list.Items {
			if u.Status.TriggerTime != nil && u.Status.Outcome == "" {
				upgrade = u
			}
		}
	}
	e.facts.CheckedVersion = upgrade.Spec.Version
	facts, err := snapshot.ReadPreflight(e.ctx, clients, upgrade, nil)
	if err != nil {
		return err
	}
	if e.facts.Installed() {
		if list, err := e.reader.kinds.MaintenanceSchedules.List(e.ctx, metav1.ListOptions{}); err == nil {
			e.facts.Schedules, facts.Schedules = append([]v1alpha1.MaintenanceSchedule{}, list.Items...), list.Items // none is not nil
		}
	}
	facts.ServingRequests, _ = e.reader.servingRequests(e.ctx) // who may not list them is not told of them
	e.facts.Nodes, e.facts.NodeUpgrades, e.facts.Inventories = facts.Nodes, facts.NodeUpgrades, facts.Inventories
	for _, found := range preflight.Check(facts) {
		switch {
		case found.ID == "unread":
			e.facts.Unread = append(e.facts.Unread, found.Message)
		case found.ID == "certificates-frozen" && e.facts.Schedules == nil: // they may not be read
		case found.ID != "facts-missing" || e.facts.Installed():
			e.facts.Findings = append(e.facts.Findings, found)
		}
	}
	return nil
}

// readClocks compares the clocks of nodes with the API server's. A kubelet writes the time of its
// own clock into its Lease, and the API server writes down by its clock when that was.
func (e *examination) readClocks() {
	leases, err := e.reader.kube.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(e.ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	e.facts.NodeClocks = map[string]time.Duration{}
	for _, lease := range leases.Items {
		var written time.Time
		for _, entry := range lease.ManagedFields {
			if entry.Time != nil && entry.Time.After(written) {
				written = entry.Time.Time
			}
		}
		if lease.Spec.RenewTime != nil && !written.IsZero() {
			e.facts.NodeClocks[lease.Name] = lease.Spec.RenewTime.Sub(written.Add(time.Second / 2)) // cut to the second
		}
	}
}

// readPrograms reads the coordinator, the agents and the policy.
func (e *examination) readPrograms() {
	e.facts.Policy, _ = e.reader.policy(e.ctx)
	if list, err := e.reader.kinds.ClusterUpgrades.List(e.ctx, metav1.ListOptions{}); err == nil {
		e.facts.LastUpgrade = view.LastEnded(slices.Clone(list.Items))
		e.facts.Upgrades = slices.DeleteFunc(list.Items, func(u v1alpha1.ClusterUpgrade) bool { return u.Status.Outcome != "" })
	}
	component := func(name string) metav1.ListOptions {
		return metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=" + name}
	}
	pods := map[string]corev1.PodTemplateSpec{}
	if list, err := e.reader.kube.AppsV1().Deployments(v1alpha1.Namespace).List(e.ctx, component("coordinator")); err == nil && len(list.Items) > 0 {
		d := list.Items[0]
		pods["the coordinator's pods"] = d.Spec.Template
		e.facts.Coordinator = &doctor.Workload{Name: d.Name, Image: imageOf(d.Spec.Template.Spec), Desired: d.Status.Replicas, Ready: d.Status.ReadyReplicas}
	}
	if list, err := e.reader.kube.AppsV1().DaemonSets(v1alpha1.Namespace).List(e.ctx, component("node-agent")); err == nil && len(list.Items) > 0 {
		d := list.Items[0]
		pods["the agents' pods"] = d.Spec.Template
		e.facts.Agents = &doctor.Workload{Name: d.Name, Image: imageOf(d.Spec.Template.Spec), Desired: d.Status.DesiredNumberScheduled, Ready: d.Status.NumberReady}
	}
	e.facts.Writes = e.tryWrites(pods)
	programs, err := snapshot.ReadPrograms(e.ctx, e.reader.clients(), e.now())
	if err != nil {
		e.facts.Unread = append(e.facts.Unread, oneLine(explain("reading the programs", err).Error()))
		return
	}
	e.facts.CoordinatorProblem = view.CoordinatorProblem(programs)
	e.facts.AgentProblems = map[string]string{}
	for i := range e.facts.Nodes {
		n := snapshot.Node(&e.facts.Nodes[i])
		if problem := view.AgentProblem(programs, n); problem != "" {
			e.facts.AgentProblems[n.Name] = problem
		}
	}
}

func imageOf(pod corev1.PodSpec) string {
	if len(pod.Containers) == 0 {
		return ""
	}
	return pod.Containers[0].Image
}

// rightsOf are what users want to do.
var rightsOf = []struct {
	what, verb, group, resource string
	needed                      bool
}{
	{"see nodes", "list", "", "nodes", true},
	{"see pods", "list", "", "pods", true},
	{"see other programs that reboot nodes", "list", "apps", "daemonsets", true},
	{"see upgrades", "list", v1alpha1.Group, "clusterupgrades", true},
	{"see what nodes do", "list", v1alpha1.Group, "nodeupgrades", true},
	{"request upgrades", "create", v1alpha1.Group, "clusterupgrades", false},
	{"freeze", "create", v1alpha1.Group, "maintenanceschedules", false},
	{"configure", "update", v1alpha1.Group, "upgradepolicies", false},
	{"install", "create", "rbac.authorization.k8s.io", "clusterroles", false},
}

func (e *examination) readRights() {
	for _, r := range rightsOf {
		review := &authorizationv1.SelfSubjectAccessReview{}
		review.Spec.ResourceAttributes = &authorizationv1.ResourceAttributes{Verb: r.verb, Group: r.group, Resource: r.resource}
		answer, err := e.reader.kube.AuthorizationV1().SelfSubjectAccessReviews().Create(e.ctx, review, metav1.CreateOptions{})
		if err != nil {
			e.facts.Unread = append(e.facts.Unread, "your rights could not be read: "+oneLine(err.Error()))
			return
		}
		e.facts.Rights = append(e.facts.Rights, doctor.Right{For: r.what, Needs: r.verb + " " + r.resource, Allowed: answer.Status.Allowed, Needed: r.needed})
	}
}

// ourTypes are the Go types of the project's kinds, by resource.
var ourTypes = map[schema.GroupVersionResource]reflect.Type{
	v1alpha1.ClusterUpgrades:      reflect.TypeFor[v1alpha1.ClusterUpgrade](),
	v1alpha1.CoordinatorStates:    reflect.TypeFor[v1alpha1.CoordinatorState](),
	v1alpha1.MaintenanceSchedules: reflect.TypeFor[v1alpha1.MaintenanceSchedule](),
	v1alpha1.NodeInventories:      reflect.TypeFor[v1alpha1.NodeInventory](),
	v1alpha1.NodeUpgrades:         reflect.TypeFor[v1alpha1.NodeUpgrade](),
	v1alpha1.UpgradePolicies:      reflect.TypeFor[v1alpha1.UpgradePolicy](),
	v1alpha1.UpgradeRecords:       reflect.TypeFor[v1alpha1.UpgradeRecord](),
}

// readKinds reads which of the project's kinds the cluster knows, and with which fields.
func (e *examination) readKinds() {
	served, err := e.reader.kube.Discovery().ServerResourcesForGroupVersion(v1alpha1.GroupVersion.String())
	if err != nil && !apierrors.IsNotFound(err) {
		e.facts.Unread = append(e.facts.Unread, "the kinds of the cluster could not be read: "+oneLine(err.Error()))
		return
	}
	definitions := dynamic.NewForConfigOrDie(e.reader.access).
		Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for resource, of := range ourTypes {
		kind := doctor.Kind{Name: of.Name(), Missing: served == nil || !slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == resource.Resource })}
		if !kind.Missing {
			definition, err := definitions.Get(e.ctx, resource.GroupResource().String(), metav1.GetOptions{})
			if kind.Unread = err != nil; !kind.Unread {
				kind.Lacks = doctor.Lacks(of, schemaOf(definition))
			}
		}
		e.facts.Kinds = append(e.facts.Kinds, kind)
	}
	slices.SortFunc(e.facts.Kinds, func(a, b doctor.Kind) int { return cmp.Compare(a.Name, b.Name) })
}

// schemaOf returns the schema of the version that the plugin uses.
func schemaOf(definition *unstructured.Unstructured) map[string]any {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, one := range versions {
		if v, is := one.(map[string]any); is && v["name"] == v1alpha1.GroupVersion.Version {
			found, _, _ := unstructured.NestedMap(v, "schema", "openAPIV3Schema")
			return found
		}
	}
	return nil
}
