package render

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Policy is the UpgradePolicy, as the coordinator sees it now.
type Policy struct {
	// Mode is Observe or Manage.
	Mode      v1alpha1.ManagementMode     `json:"mode,omitempty"`
	Automatic []v1alpha1.AutomaticUpgrade `json:"automatic,omitempty"`
	// Version is the one that new nodes are upgraded to.
	Version string `json:"version,omitempty"`
	// Source is the address of the folder of images.
	Source string `json:"source,omitempty"`
	// Problems are why the policy, or the source, cannot be understood.
	Problems []Problem `json:"problems,omitempty"`
}

// ObservedNote tells people that no upgrade begins, and what to do.
const ObservedNote = "the cluster is only observed: set spec.mode of UpgradePolicy " + v1alpha1.PolicyName + " to Manage: " + manageCommand

// manageCommand makes agents take over the nodes that the policy selects.
const manageCommand = "`kubectl patch upgradepolicy " + v1alpha1.PolicyName + ` --type merge -p '{"spec":{"mode":"Manage"}}'` + "`"

// Problem is something that a person has to fix.
type Problem struct {
	Reason  v1alpha1.Reason `json:"reason"`
	Message string          `json:"message"`
}

// Approval is one that is missing.
type Approval struct {
	Upgrade string `json:"upgrade"`
	// Group that lacks it. Empty: the upgrade as a whole.
	Group string `json:"group,omitempty"`
	// Command gives it.
	Command string `json:"command"`
}

// policyRows returns the lines about the policy, if there is one.
func policyRows(p *Policy, o Options) [][2]cell {
	if p == nil {
		return nil
	}
	text := p.automatic()
	if p.Version != "" {
		text += "; new nodes get " + p.Version
	}
	rows := [][2]cell{titled("Policy:", cell{text, plain})}
	if p.Mode == v1alpha1.ModeObserve {
		rows = append(rows, titled("", cell{ObservedNote, yellow}))
	}
	for _, problem := range p.Problems {
		rows = append(rows, titled("", cell{o.why(problem.Reason, problem.Message, nil), red}))
	}
	return rows
}

func (p *Policy) automatic() string {
	if len(p.Automatic) == 0 {
		return "no automatic upgrades"
	}
	var kinds []string
	for _, one := range p.Automatic {
		kind := string(one.Type)
		if age := one.MinAgeSeconds; age != nil && *age > 0 {
			kind += fmt.Sprintf(" (once available for %s)", duration.HumanDuration(time.Duration(*age)*time.Second))
		}
		kinds = append(kinds, kind)
	}
	return "automatic " + strings.Join(kinds, ", ")
}

// approvals draws which approvals are missing. A command is not broken into lines, so that
// it can be copied.
func (o Options) approvals(list []Approval) string {
	var b strings.Builder
	for i, a := range list {
		title, what := "", a.Upgrade
		if i == 0 {
			title = "Approval:"
		}
		if a.Group != "" {
			what = fmt.Sprintf("group %s of %s", a.Group, a.Upgrade)
		}
		b.WriteString(o.titles([][2]cell{titled(title, cell{what + " begins once it is approved:", yellow})}))
		b.WriteString(strings.Repeat(" ", titleWidth) + o.paint(a.Command, plain) + "\n")
	}
	return b.String()
}

// heldRows returns the lines about nodes on hold, and about those that are not managed.
func heldRows(s Status) [][2]cell {
	var rows [][2]cell
	var held []string
	for _, n := range s.Nodes {
		if n.OnHold {
			held = append(held, n.Name)
		}
	}
	if len(held) > 0 {
		rows = append(rows, titled("On hold:", cell{Few(held) + "; " + releaseHint(held...), yellow}))
	}
	if len(s.Unmanaged) > 0 {
		rows = append(rows, titled("Unmanaged:", cell{fmt.Sprintf("%d, which the UpgradePolicy's nodeSelector does not match", len(s.Unmanaged)), plain}))
	}
	return rows
}

// releaseHint says how to remove the label that holds the nodes.
func releaseHint(nodes ...string) string {
	names := "NODE"
	if len(nodes) <= mostNames {
		names = strings.Join(nodes, " ")
	}
	return fmt.Sprintf("`kubectl label node %s %s-` removes the hold", names, v1alpha1.HoldLabel)
}
