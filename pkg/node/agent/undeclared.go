package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
)

// While kubectl-upgrade itself gets another version, the CRDs may be newer or older than this agent, and lack a field
// that it writes. The API server then refuses the whole report. The agent leaves out what an upgrade does not depend on:
// sentences for people, and facts for checks.

// undeclaredField matches what the API server says of a field that a definition does not have, also of several.
var undeclaredField = regexp.MustCompile(`\.([\w.]+)(?:\[[^\]]*\][\w.]*)*: field not declared in schema`)

// leaveOutFor is how long fields are left out until the whole report is tried again: the CRDs may have come.
const leaveOutFor = 5 * time.Minute

// leftOut are the fields of one kind of report that the CRDs do not have, as paths such as status.rehearsal.
type leftOut struct {
	fields []string
	until  time.Time
}

// applyDeclared applies a report without the fields that the CRDs do not have. needed reports whether a report without
// them would not do.
func applyDeclared[T kube.Object, L kube.List](
	ctx context.Context, p *reportSense, kind kube.Kind[T, L], report T, subresource string, known *leftOut, needed func(without T) bool,
) (T, error) {
	if now := p.Now(); now.After(known.until) {
		known.fields = nil
	}
	for {
		declared, err := withoutFields(report, known.fields)
		if err != nil {
			return report, err
		}
		stored, err := kind.Apply(ctx, declared, fieldManager, subresource)
		more := undeclared(err, known.fields)
		if len(more) == 0 {
			return stored, err
		}
		fields := slices.Concat(known.fields, more)
		if reduced, reduceErr := withoutFields(report, fields); reduceErr != nil || needed(reduced) {
			return stored, err
		}
		p.Log.WarnContext(ctx, "the CRDs are of another version than this agent: leaving out what they do not have", "node", p.Node, "fields", more)
		known.fields, known.until = fields, p.Now().Add(leaveOutFor)
	}
}

// undeclared returns the fields that the error names as undeclared, besides those that are known.
func undeclared(err error, known []string) (fields []string) {
	if err == nil {
		return nil
	}
	for _, found := range undeclaredField.FindAllStringSubmatch(err.Error(), -1) {
		if field := strings.TrimSuffix(found[1], "."); !slices.Contains(known, field) && !slices.Contains(fields, field) {
			fields = append(fields, field)
		}
	}
	return fields
}

// withoutFields returns a copy of a report without these fields.
func withoutFields[T any](report T, fields []string) (T, error) {
	var reduced T
	if len(fields) == 0 {
		return report, nil
	}
	text, err := json.Marshal(report)
	if err != nil {
		return reduced, err
	}
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		return reduced, err
	}
	for _, field := range fields {
		path := strings.Split(field, ".")
		at := object
		for _, name := range path[:len(path)-1] {
			at, _ = at[name].(map[string]any)
		}
		delete(at, path[len(path)-1])
	}
	if text, err = json.Marshal(object); err != nil {
		return reduced, err
	}
	return reduced, json.Unmarshal(text, &reduced)
}

// decides reports whether an agent that reads the status without some fields would go on in another way.
func decides(status, without v1alpha1.NodeUpgradeStatus) bool {
	before, after := stateOf(status), stateOf(without)
	after.MethodMessage, after.KubeadmLog, after.KubeletLog, after.Rehearsal, after.Parts = before.MethodMessage, before.KubeadmLog, before.KubeletLog, before.Rehearsal, before.Parts
	// As the API server stores them: times have microseconds there.
	stored, err := json.Marshal(statusOf(before))
	others, err2 := json.Marshal(statusOf(after))
	return err != nil || err2 != nil || before.Reason != after.Reason || before.Message != after.Message || !bytes.Equal(stored, others)
}
