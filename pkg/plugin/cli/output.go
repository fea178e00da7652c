package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
)

// output is the flag -o: kubectl's formats, and wide.
type output struct {
	flags *genericclioptions.PrintFlags
	// nameless says why -o name prints nothing. Empty: it does.
	nameless string
	// formats are the verb's own, and kubectl's without a value. Nil: the usual ones.
	formats []string
}

func (o *output) addTo(cmd *cobra.Command) {
	o.flags = genericclioptions.NewPrintFlags("")
	o.flags.AddFlags(cmd)
	cmd.PreRunE = func(*cobra.Command, []string) error { return cmp.Or(o.checkTemplate(), o.check()) }
	cmd.Flags().Lookup("output").Usage = "Output format: wide, json, yaml, name, jsonpath=…, custom-columns=…, go-template=… and kubectl's others."
	_ = cmd.RegisterFlagCompletionFunc("output", o.complete)
	for _, name := range []string{"template", "allow-missing-template-keys", "show-managed-fields"} {
		cmd.Flags().Lookup(name).Hidden = true
	}
}

func (o *output) format() string { return *o.flags.OutputFormat }

// forPeople reports whether the output is a table, and not data for programs.
func (o *output) forPeople() bool { return o.format() == "" || o.format() == "wide" }

// complete offers the formats.
func (o *output) complete(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	formats := slices.Clone(o.formats)
	if formats == nil {
		formats = []string{"wide", "json", "yaml"}
		if o.nameless == "" {
			formats = append(formats, "name")
		}
	}
	formats = append(formats, "jsonpath=", customColumns+"=", "go-template=")
	formats = slices.DeleteFunc(formats, func(format string) bool { return !strings.HasPrefix(format, begun) })
	if !slices.ContainsFunc(formats, func(format string) bool { return !strings.HasSuffix(format, "=") }) {
		return formats, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace // the person goes on
	}
	return formats, cobra.ShellCompDirectiveNoFileComp
}

// check refuses a format that does not exist, before the verb changes anything.
func (o *output) check() error {
	switch {
	case o.forPeople():
		return nil
	case o.format() == "name" && o.nameless != "":
		return fmt.Errorf("-o name: %s; use -o json", o.nameless)
	}
	_, err := o.printer()
	if genericclioptions.IsNoCompatiblePrinterError(err) {
		hint := ""
		if near := request.Nearest(o.format(), append(o.flags.AllowedFormats(), "wide", customColumns)); near != "" {
			hint = fmt.Sprintf("did you mean %s? ", near)
		}
		return fmt.Errorf("-o %s: there is no such format; %suse wide, json, yaml, name, jsonpath=…, custom-columns=… or go-template=…", o.format(), hint)
	}
	return err
}

// checkTemplate takes kubectl's flag --template for -o go-template, as kubectl does, and refuses it
// where it would have no effect.
func (o *output) checkTemplate() error {
	template := *o.flags.TemplatePrinterFlags.TemplateArgument
	switch {
	case template == "":
	case o.format() == "":
		*o.flags.OutputFormat = "go-template"
	case !slices.Contains(o.flags.TemplatePrinterFlags.AllowedFormats(), o.format()):
		return fmt.Errorf("--template: -o %s has no template; leave one of them out, or use -o go-template or jsonpath", o.format())
	}
	return nil
}

// printer returns the printer of the flag's format.
func (o *output) printer() (printers.ResourcePrinter, error) {
	if columns, are := strings.CutPrefix(o.format(), customColumns+"="); are {
		printer, err := newColumnPrinter(columns)
		if err != nil {
			return nil, fmt.Errorf("-o %s: %w", customColumns, err)
		}
		return printer, nil
	}
	printer, err := o.flags.ToPrinter()
	if genericclioptions.IsNoCompatiblePrinterError(err) {
		return nil, err
	}
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
	if err := utiljson.Unmarshal(text, &u.Object); err != nil { // whole numbers stay such
		return err
	}
	var printed bytes.Buffer // nothing is printed of a template that fails
	show := func(object runtime.Object) error { return printer.PrintObj(object, &printed) }
	if o.format() == "name" && u.IsList() {
		err = u.EachListItem(show)
	} else {
		err = show(u)
	}
	if err != nil {
		what, _, _ := strings.Cut(err.Error(), ". Printing more information") // the whole object, as Go writes it
		return fmt.Errorf("-o %s: %s", o.format(), what)
	}
	_, err = p.Out.Write(printed.Bytes())
	return err
}

// checkColor checks the flag --color.
func (p *program) checkColor() error {
	switch p.color {
	case "auto", "always", "never":
		return nil
	}
	return fmt.Errorf("--color=%s: must be auto, always or never", p.color)
}

// terminal returns the size of the terminal that output goes to, if it goes to one.
func (p *program) terminal() (width, height int, yes bool) {
	return terminalSize(p.terminalOut)
}

// drawing returns the options for what is drawn now.
func (p *program) drawing() render.Options {
	width, _, terminal := p.terminal()
	// https://no-color.org: any value but the empty one.
	colored := terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return render.Options{
		Now:     p.now(),
		Cluster: p.clusterName,
		Zone:    time.Local,
		Width:   width,
		Color:   p.color == "always" || p.color == "auto" && colored,
	}
}

// The values of --dry-run, which are kubectl's.
const (
	dryRunNone   = "none"
	dryRunClient = "client" // nothing is sent
	dryRunServer = "server" // the server checks it, and stores nothing
)

// dryRun is the flag --dry-run.
type dryRun struct{ mode string }

func (d *dryRun) addTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&d.mode, "dry-run", dryRunNone, "Must be none, client (change nothing) or server (let the API server validate the change without storing it).")
	cmd.Flags().Lookup("dry-run").NoOptDefVal = dryRunClient
	_ = cmd.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions([]cobra.Completion{dryRunNone, dryRunClient, dryRunServer}, cobra.ShellCompDirectiveNoFileComp))
}

// check checks the flag.
func (d *dryRun) check() error {
	switch d.mode {
	case dryRunNone, dryRunClient, dryRunServer:
		return nil
	}
	return fmt.Errorf("--dry-run=%s: must be none, client or server", d.mode)
}

// options returns the value for the option DryRun of a request to the API server.
func (d *dryRun) options() []string {
	if d.mode == dryRunServer {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// patchOptions are those of every patch: a field that the API server does not know is refused, and not dropped.
func (d *dryRun) patchOptions() metav1.PatchOptions {
	return metav1.PatchOptions{FieldManager: manager, FieldValidation: metav1.FieldValidationStrict, DryRun: d.options()}
}

// String returns what kubectl appends to a message about a dry run.
func (d dryRun) String() string {
	switch d.mode {
	case dryRunClient:
		return " (dry run)"
	case dryRunServer:
		return " (server dry run)"
	}
	return ""
}
