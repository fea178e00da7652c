package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// addSelector adds the flag -l to a verb that chooses nodes. --node-selector is another name of it.
func addSelector(cmd *cobra.Command, text *string, usage string) {
	cmd.Flags().StringVarP(text, "selector", "l", "", usage+" --node-selector is the same.")
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "node-selector" {
			name = "selector"
		}
		return pflag.NormalizedName(name)
	})
}

// parseSelector reads a selector in the form of kubectl's -l.
func parseSelector(text string) (*v1alpha1.LabelSelector, error) {
	requirements, err := labels.ParseToRequirements(text)
	if err != nil {
		return nil, err
	}
	parsed := &metav1.LabelSelector{MatchLabels: map[string]string{}}
	for _, r := range requirements {
		values := slices.Sorted(slices.Values(r.ValuesUnsorted()))
		one := metav1.LabelSelectorRequirement{Key: r.Key(), Values: values}
		switch r.Operator() {
		case selection.Equals, selection.DoubleEquals:
			if before, twice := parsed.MatchLabels[r.Key()]; twice && before != values[0] {
				return nil, fmt.Errorf("no node has two values of the label %s: for either write '%s in (%s, %s)'", r.Key(), r.Key(), before, values[0])
			}
			parsed.MatchLabels[r.Key()] = values[0]
			continue
		case selection.In:
			one.Operator = metav1.LabelSelectorOpIn
		case selection.NotIn, selection.NotEquals:
			one.Operator = metav1.LabelSelectorOpNotIn
		case selection.Exists:
			one.Operator = metav1.LabelSelectorOpExists
		case selection.DoesNotExist:
			one.Operator = metav1.LabelSelectorOpDoesNotExist
		default:
			return nil, errors.New("an object can only keep =, !=, in, notin, a key, and !key")
		}
		parsed.MatchExpressions = append(parsed.MatchExpressions, one)
	}
	return v1alpha1.NewLabelSelector(parsed), nil
}

// nodeFilter is the flag -l of verbs that show nodes.
type nodeFilter struct {
	text     string
	selector labels.Selector // nil: all nodes
}

func (f *nodeFilter) addTo(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.text, "selector", "l", "", "Show only nodes with these labels, such as pool=db, as kubectl's -l does.")
}

// read parses the flag.
func (f *nodeFilter) read() (err error) {
	if f.text == "" {
		return nil
	}
	if f.selector, err = labels.Parse(f.text); err != nil {
		return fmt.Errorf("--selector=%s: %w", f.text, err)
	}
	return nil
}

// matches reports whether a node with those labels is shown.
func (f *nodeFilter) matches(of map[string]string) bool {
	return f.selector == nil || f.selector.Matches(labels.Set(of))
}

// shows reports whether the node is shown.
func (f *nodeFilter) shows(n view.Node) bool { return f.matches(n.Labels) }

// errUnreadLabels is why nodes cannot be chosen by their labels.
var errUnreadLabels = errors.New("-l: you may not read Nodes, which have the labels; ask the cluster's administrators for that right, or leave out -l")
