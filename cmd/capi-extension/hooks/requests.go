package hooks

import (
	"encoding/json"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/cover"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// named is an object of a request of which only the name counts: the rest is read in the management cluster.
type named struct {
	Metadata struct{ Namespace, Name string }
}

// maxName is the length of the longest name of an object.
const maxName = 253

func (n named) key() (client.ObjectKey, error) {
	if len(n.Metadata.Namespace) > maxName || len(n.Metadata.Name) > maxName {
		return client.ObjectKey{}, refuse("the request of Cluster API names an object by more than %d characters", maxName)
	}
	return client.ObjectKey{Namespace: n.Metadata.Namespace, Name: n.Metadata.Name}, nil
}

// updateRequest is what counts of an UpdateMachineRequest.
type updateRequest struct {
	Desired struct{ Machine named }
}

// beforeRequest is what counts of a request before an upgrade of a cluster with a ClusterClass.
type beforeRequest struct {
	Cluster              named
	ToKubernetesVersion  string
	ControlPlaneUpgrades []struct{ Version string }
}

// question is what counts of a request whether something can be updated in place. It is small, as it is
// kept while the owner waits.
type question struct {
	object   named
	from, to string
	// uncovered names the fields that change and do not come with the version. Empty: there are none.
	uncovered string
	// unreadable reports that the objects cannot be compared.
	unreadable bool
	// patches is nil when the question is asked again.
	patches *cover.Answer
}

// again returns what is kept of the question.
func (q question) again() *question {
	q.patches = nil
	return &q
}

// decode reads what counts of a request.
func decode[T any](body []byte) (*T, error) {
	into := new(T)
	if err := json.Unmarshal(body, into); err != nil {
		return nil, fmt.Errorf("it is no JSON of such a request: %w", err)
	}
	return into, nil
}

func readMachineChange(body []byte) (*question, error) {
	type side struct{ Machine, BootstrapConfig, InfrastructureMachine json.RawMessage }
	type machine struct {
		named
		Spec struct{ Version string }
	}
	request, err := decode[struct{ Current, Desired side }](body)
	if err != nil {
		return nil, err
	}
	current, err := decode[machine](request.Current.Machine)
	if err != nil {
		return nil, err
	}
	desired, err := decode[machine](request.Desired.Machine)
	if err != nil {
		return nil, err
	}
	objects := func(s side) cover.Objects {
		return cover.Objects{Machine: s.Machine, Bootstrap: s.BootstrapConfig, Infrastructure: s.InfrastructureMachine}
	}
	q := &question{object: current.named, from: current.Spec.Version, to: desired.Spec.Version}
	q.compare(objects(request.Current), objects(request.Desired), cover.Machine)
	return q, nil
}

func readSetChange(body []byte) (*question, error) {
	type side struct{ MachineSet, BootstrapConfigTemplate, InfrastructureMachineTemplate json.RawMessage }
	type set struct {
		named
		Spec struct {
			Template struct{ Spec struct{ Version string } }
		}
	}
	request, err := decode[struct{ Current, Desired side }](body)
	if err != nil {
		return nil, err
	}
	current, err := decode[set](request.Current.MachineSet)
	if err != nil {
		return nil, err
	}
	desired, err := decode[set](request.Desired.MachineSet)
	if err != nil {
		return nil, err
	}
	objects := func(s side) cover.Objects {
		return cover.Objects{Machine: s.MachineSet, Bootstrap: s.BootstrapConfigTemplate, Infrastructure: s.InfrastructureMachineTemplate}
	}
	q := &question{object: current.named, from: current.Spec.Template.Spec.Version, to: desired.Spec.Template.Spec.Version}
	q.compare(objects(request.Current), objects(request.Desired), cover.MachineSet)
	return q, nil
}

// maxVersion is the length of the longest version that is kept. One of that length is none any more.
const maxVersion = 65

// compare finds out what changes. Versions that cannot be read are refused later, by their owner's name.
func (q *question) compare(current, desired cover.Objects, compare func(cover.Step, cover.Objects, cover.Objects) (cover.Answer, error)) {
	q.from, q.to = q.from[:min(len(q.from), maxVersion)], q.to[:min(len(q.to), maxVersion)]
	from, errFrom := version.Parse(q.from)
	to, errTo := version.Parse(q.to)
	if errFrom != nil || errTo != nil {
		return
	}
	answer, err := compare(cover.Step{From: from, To: to}, current, desired)
	if err != nil {
		q.unreadable = true
		return
	}
	q.uncovered = list(answer.Uncovered)
	q.patches = &answer
}
