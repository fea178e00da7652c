package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
)

// output is the flag -o: kubectl's formats, and wide.
type output struct {
	flags *genericclioptions.PrintFlags
}

func (o *output) addTo(cmd *cobra.Command) {
	o.flags = genericclioptions.NewPrintFlags("")
	o.flags.AddFlags(cmd)
	cmd.PreRunE = func(*cobra.Command, []string) error { return o.check() }
	cmd.Flags().Lookup("output").Usage = "Output format: wide, json, yaml, name, jsonpath=…, go-template=… and kubectl's others."
	for _, name := range []string{"template", "allow-missing-template-keys", "show-managed-fields"} {
		cmd.Flags().Lookup(name).Hidden = true
	}
}

func (o *output) format() string { return *o.flags.OutputFormat }

// forPeople reports whether the output is a table, and not data for programs.
func (o *output) forPeople() bool { return o.format() == "" || o.format() == "wide" }

// check refuses a format that does not exist, before the verb changes anything.
func (o *output) check() error {
	if o.forPeople() {
		return nil
	}
	if _, err := o.flags.ToPrinter(); genericclioptions.IsNoCompatiblePrinterError(err) {
		hint := ""
		if near := nearest(o.format(), append(o.flags.AllowedFormats(), "wide")); near != "" {
			hint = fmt.Sprintf("did you mean %s? ", near)
		}
		return fmt.Errorf("-o %s: there is no such format; %suse wide, json, yaml, name, jsonpath=… or go-template=…", o.format(), hint)
	}
	_, err := o.printer()
	return err
}

// printer returns the printer of the flag's format.
func (o *output) printer() (printers.ResourcePrinter, error) {
	printer, err := o.flags.ToPrinter()
	if err != nil {
		return nil, fmt.Errorf("-o %s: %w", o.format(), err)
	}
	return printer, nil
}

// print writes the value, which has apiVersion and kind, in the format of the flag.
func (o *output) print(p *program, value any) error {
	printer, err := o.printer()
	if err != nil {
		return err
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
