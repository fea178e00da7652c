package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// resource is a kind of object whose name a verb takes. The name is accepted as kubectl prints it,
// too, such as clusterupgrade.kubectl-upgrade.dev/v1.35.4.
type resource struct {
	kind string   // as errors say it
	ours []string // singular, plural and short name of our kinds, whose group may follow
	core []string // those of Kubernetes' own kinds
}

var (
	upgradeResource = resource{kind: "ClusterUpgrade", ours: []string{"clusterupgrade", "clusterupgrades", "kucu"}}
	recordResource  = resource{kind: "UpgradeRecord", ours: []string{"upgraderecord", "upgraderecords", "kurec"}}
	freezeResource  = resource{kind: "freeze", ours: []string{"maintenanceschedule", "maintenanceschedules", "kums"}}
	// An agent's objects have the name of its node.
	nodeResource = resource{
		kind: "node", core: []string{"node", "nodes", "no"},
		ours: []string{"nodeupgrade", "nodeupgrades", "kunu", "nodeinventory", "nodeinventories", "kuinv"},
	}
)

// badName is the error for an argument that is no name; their number may be right.
type badName struct{ error }

// name returns the name that an argument has, which may have the resource in front.
func (r resource) name(argument string) (string, error) {
	prefix, name, printed := strings.Cut(argument, "/")
	switch {
	case !printed:
		return argument, nil
	case !r.has(prefix):
		return "", badName{fmt.Errorf("%q is no %s: expected a name, or %s/NAME", argument, r.kind, r.example())}
	case name == "" || strings.Contains(name, "/"):
		return "", badName{fmt.Errorf("%q has no name: expected %s/NAME", argument, prefix)}
	}
	return name, nil
}

// has reports whether kubectl knows the kind by that word, in upper or lower case.
func (r resource) has(word string) bool {
	word = strings.ToLower(word)
	short, group, grouped := strings.Cut(word, ".")
	if !grouped {
		return slices.Contains(r.core, word) || slices.Contains(r.ours, word)
	}
	isOurs := group == v1alpha1.Group || group == v1alpha1.GroupVersion.Version+"."+v1alpha1.Group
	return isOurs && slices.Contains(r.ours, short)
}

func (r resource) example() string { return append(slices.Clone(r.core), r.ours...)[0] }

// pastResource is an upgrade that may have left only its records.
var pastResource = resource{kind: "ClusterUpgrade", ours: append(slices.Clone(upgradeResource.ours), recordResource.ours...)}

// pastName is the name of an upgrade, or of a record of it.
type pastName struct{ name, record string }

// pastNameIn returns the name that the arguments have, which pastResource has checked.
func pastNameIn(args []string) pastName {
	name := pastResource.in(args)
	if prefix, _, printed := strings.Cut(strings.Join(args, ""), "/"); printed && recordResource.has(prefix) {
		return pastName{record: name}
	}
	return pastName{name: name}
}

// resolve sets the name of the upgrade to that in the record, or puts the v in front that a version lacks.
func (p *pastName) resolve(s clusterstate.Snapshot) error {
	if p.record == "" {
		names := namesOf(s)
		if v, err := version.Parse(p.name); err == nil && !slices.Contains(names, p.name) && slices.Contains(names, v.String()) {
			p.name = v.String()
		}
		return nil
	}
	i := slices.IndexFunc(s.Records, func(r v1alpha1.UpgradeRecord) bool { return r.Name == p.record })
	if i < 0 {
		return fmt.Errorf("there is no UpgradeRecord %q; `kubectl upgrade history -o name` lists them", p.record)
	}
	p.name = s.Records[i].Spec.Upgrade.Name
	return nil
}

// optional accepts at most one argument: the name of an object of that kind.
func (r resource) optional(cmd *cobra.Command, args []string) error {
	if err := cobra.MaximumNArgs(1)(cmd, args); err != nil || len(args) == 0 {
		return err
	}
	_, err := r.name(args[0])
	return err
}

// required accepts exactly one argument: the name of an object of that kind.
func (r resource) required(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		example, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
		return fmt.Errorf("expected the name of one %s, got %d, as in `%s`", r.kind, len(args), example)
	}
	return r.optional(cmd, args)
}

// in returns the name that the arguments have; empty: they have none. The command's Args
// have checked them.
func (r resource) in(args []string) string {
	if len(args) == 0 {
		return ""
	}
	name, _ := r.name(args[0])
	return name
}
