package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/snapshot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/source"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/doctor"
)

// examination reads the facts of `kubectl upgrade doctor`.
type examination struct {
	*program
	ctx    context.Context
	access *rest.Config
	kube   kubernetes.Interface
	reader *reader
	facts  doctor.Facts
}

// doctorFacts reads what the user may read. It returns an error only if the API server does not
// answer, or if Nodes cannot be read. from is the source of images to read where there is no
// policy.
func (p *program) doctorFacts(ctx context.Context, from string) (doctor.Facts, error) {
	e := &examination{program: p, ctx: ctx, facts: doctor.Facts{Now: p.now(), Plugin: p.version}}
	var err error
	if e.access, err = p.cluster.ToRESTConfig(); err != nil {
		return e.facts, err
	}
	if e.kube, e.reader, err = p.clients(); err != nil {
		return e.facts, err
	}
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
		read := source.NewPoller(v1alpha1.ImageSource{URL: from, Insecure: true})
		limited, cancel := context.WithTimeout(ctx, sourceTimeout)
		defer cancel()
		e.facts.SourceProblem = read.Read(limited).Problem.Message
	}
	e.readClocks()
	return e.facts, nil
}

// readServer reads the API server's version and clock, in one answer.
func (e *examination) readServer() error {
	client, err := rest.HTTPClientFor(e.access)
	if err != nil {
		return err
	}
	address, _, err := rest.DefaultServerUrlFor(e.access)
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
	if json.NewDecoder(response.Body).Decode(&info) == nil {
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
// two versions on purpose. Without one it runs those that an upgrade of type Reboot would be
// held by, which depend on no version.
func (e *examination) readChecks() error {
	clients := snapshot.PreflightClients{Kube: e.kube, Access: e.access}
	upgrade := v1alpha1.ClusterUpgrade{Spec: v1alpha1.ClusterUpgradeSpec{Type: v1alpha1.TypeReboot}}
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
	facts, err := snapshot.ReadPreflight(e.ctx, clients, upgrade, nil)
	if err != nil {
		return err
	}
	e.facts.Nodes, e.facts.NodeUpgrades = facts.Nodes, facts.NodeUpgrades
	for _, found := range preflight.Check(facts) {
		switch {
		case found.ID == "unread":
			e.facts.Unread = append(e.facts.Unread, found.Message)
		case found.ID != "facts-missing" || e.facts.Installed():
			e.facts.Findings = append(e.facts.Findings, found)
		}
	}
	return nil
}

// readClocks compares the clocks of nodes with the API server's. A kubelet writes the time of its
// own clock into its Lease, and the API server writes down by its clock when that was.
func (e *examination) readClocks() {
	leases, err := e.kube.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(e.ctx, metav1.ListOptions{})
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
