package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// output is the flag -o: kubectl's formats, and wide.
type output struct {
	flags *genericclioptions.PrintFlags
}

func (o *output) addTo(cmd *cobra.Command) {
	o.flags = genericclioptions.NewPrintFlags("")
	o.flags.AddFlags(cmd)
	cmd.Flags().Lookup("output").Usage = "Output format: wide, json, yaml, name, jsonpath=…, go-template=… and kubectl's others."
	for _, name := range []string{"template", "allow-missing-template-keys", "show-managed-fields"} {
		cmd.Flags().Lookup(name).Hidden = true
	}
}

func (o *output) format() string { return *o.flags.OutputFormat }

// forPeople reports whether the output is a table, and not data for programs.
func (o *output) forPeople() bool { return o.format() == "" || o.format() == "wide" }

// print writes the value, which has apiVersion and kind, in the format of the flag.
func (o *output) print(p *program, value any) error {
	printer, err := o.flags.ToPrinter()
	if err != nil {
		return fmt.Errorf("-o %s: %w", o.format(), err)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, &u.Object); err != nil {
		return err
	}
	return printer.PrintObj(u, p.Out)
}
