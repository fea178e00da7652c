package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"

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
