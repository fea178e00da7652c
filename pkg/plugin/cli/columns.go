package cli

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/util/jsonpath"
)

// customColumns begins the format -o custom-columns=NAME:.path,…
const customColumns = "custom-columns"

// columnPrinter prints a column for each path, as kubectl does. (kubectl's own printer would add
// megabytes to the program.)
type columnPrinter struct {
	titles []string
	paths  []*jsonpath.JSONPath
}

// newColumnPrinter reads what follows custom-columns=.
func newColumnPrinter(spec string) (*columnPrinter, error) {
	if spec == "" {
		return nil, errors.New("must name columns, such as custom-columns=NODE:.name,STEP:.step")
	}
	c := &columnPrinter{}
	for _, column := range splitColumns(spec) {
		title, path, found := strings.Cut(column, ":")
		if title, path = strings.TrimSpace(title), strings.TrimSpace(path); !found || title == "" || path == "" {
			return nil, fmt.Errorf("column %q must be NAME:.path, such as NODE:.name", column)
		}
		parsed := jsonpath.New(title).AllowMissingKeys(true)
		if err := parsed.Parse(relaxedPath(path)); err != nil {
			return nil, fmt.Errorf("column %s: %q is no path: %w", title, path, err)
		}
		c.titles, c.paths = append(c.titles, title), append(c.paths, parsed)
	}
	return c, nil
}

// splitColumns splits at the commas that are in no brackets.
func splitColumns(spec string) (columns []string) {
	depth, begin := 0, 0
	for i, letter := range spec {
		switch letter {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if depth == 0 {
				columns = append(columns, spec[begin:i])
				begin = i + 1
			}
		}
	}
	return append(columns, spec[begin:])
}

// relaxedPath returns a JSONPath template for a path, which may be written as name, .name, {name}
// or {.name}.
func relaxedPath(path string) string {
	if inner, found := strings.CutPrefix(path, "{"); found {
		path = strings.TrimSuffix(inner, "}")
	}
	return "{." + strings.TrimPrefix(path, ".") + "}"
}

// rowFields are where the rows of our own kinds are; other kinds are one row.
var rowFields = map[string]string{
	"UpgradeStatus": "nodes", "UpgradePlan": "nodes", "UpgradeReport": "nodes", "UpgradeDiagnosis": "checks",
	"UpgradeHistory": "items", "ReleaseList": "items", "CertificateList": "items",
	"FleetStatus": "items", "FleetPlan": "items", "FleetFreeze": "items", "FleetReport": "items", "WindowList": "items", "List": "items",
}

// rowsOf returns the values that have a row each.
func rowsOf(object map[string]any) []any {
	kind, _ := object["kind"].(string)
	field, isList := rowFields[kind]
	if !isList {
		return []any{object}
	}
	rows, _ := object[field].([]any)
	return rows
}

// PrintObj is part of printers.ResourcePrinter.
func (c *columnPrinter) PrintObj(object runtime.Object, out io.Writer) error {
	u, is := object.(*unstructured.Unstructured)
	if !is {
		return fmt.Errorf("-o %s: %T has no columns", customColumns, object)
	}
	table := printers.GetNewTabWriter(out)
	fmt.Fprintln(table, strings.Join(c.titles, "\t"))
	for _, row := range rowsOf(u.Object) {
		cells := make([]string, len(c.paths))
		for i, path := range c.paths {
			found, err := path.FindResults(row)
			if err != nil {
				return fmt.Errorf("-o %s: column %s: %w", customColumns, c.titles[i], err)
			}
			cells[i] = cellOf(found)
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	return table.Flush()
}

// cellOf returns the values that a path found, in one cell.
func cellOf(found [][]reflect.Value) string {
	var values []string
	for _, list := range found {
		for _, value := range list {
			values = append(values, oneLine(fmt.Sprint(value.Interface())))
		}
	}
	if len(values) == 0 {
		return "<none>"
	}
	return strings.Join(values, ",")
}
