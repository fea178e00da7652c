package othertools

import (
	"os"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"sigs.k8s.io/yaml"
)

const root = "../.."

// TestArgoCDHealth checks that Argo CD shows each object as kstatus does, which a test in
// pkg/api/v1alpha1 computes for the same objects.
func TestArgoCDHealth(t *testing.T) {
	var configMap struct {
		Data map[string]string `json:"data"`
	}
	unmarshal(t, root+"/manifests/argocd/argocd-cm.yaml", &configMap)
	var rows []struct {
		Name    string         `json:"name"`
		Kstatus string         `json:"kstatus"`
		Object  map[string]any `json:"object"`
	}
	unmarshal(t, root+"/test/api/testdata/kstatus.yaml", &rows)
	health := map[string]string{"Current": "Healthy", "InProgress": "Progressing", "Failed": "Degraded"}
	others := map[string]string{"an upgrade that is suspended": "Suspended", "an upgrade that waits for an approval": "Suspended", "an upgrade that is only observed": "Suspended"}
	checked := map[string]int{}
	for _, row := range rows {
		kind := row.Object["kind"].(string)
		script := configMap.Data["resource.customizations.health.kubectl-upgrade.dev_"+kind]
		if script == "" {
			continue
		}
		checked[kind]++
		want := others[row.Name]
		if want == "" {
			want = health[row.Kstatus]
		}
		status, message := run(t, script, row.Object)
		if status != want {
			t.Errorf("%s: got %s (%s), want %s", row.Name, status, message, want)
		}
		if message == "" {
			t.Errorf("%s: there is no message", row.Name)
		}
	}
	if len(checked) != 3 || len(configMap.Data) != 3 {
		t.Errorf("checked %v of %d health checks, want those of three kinds", checked, len(configMap.Data))
	}
	scripts := map[string]bool{}
	for _, script := range configMap.Data {
		scripts[script] = true
	}
	if len(scripts) != 1 {
		t.Errorf("there are %d different scripts, want one", len(scripts))
	}
}

// run runs a health check with the libraries that Argo CD opens for it: base, table and package
// (argo-cd, util/lua/lua.go).
func run(t *testing.T, script string, object map[string]any) (status, message string) {
	t.Helper()
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(open), NRet: 0, Protect: true}, lua.LString(name)); err != nil {
			t.Fatal(err)
		}
	}
	state.SetGlobal("obj", value(state, object))
	if err := state.DoString(script); err != nil {
		t.Fatal(err)
	}
	table, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the script returns %s, want a table", state.Get(-1).Type())
	}
	return lua.LVAsString(table.RawGetString("status")), lua.LVAsString(table.RawGetString("message"))
}

// value returns JSON's values as Lua's.
func value(state *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case map[string]any:
		table := state.NewTable()
		for name, field := range v {
			table.RawSetString(name, value(state, field))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, item := range v {
			table.Append(value(state, item))
		}
		return table
	case string:
		return lua.LString(v)
	case float64:
		return lua.LNumber(v)
	case bool:
		return lua.LBool(v)
	}
	return lua.LNil
}

func unmarshal(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
