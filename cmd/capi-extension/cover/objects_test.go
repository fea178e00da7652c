package cover

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// object returns the JSON of an object with a spec, which is written as JSON.
func object(kind, spec string) []byte {
	return fmt.Appendf(nil, `{"kind":%q,"metadata":{"name":"x"},"spec":%s}`, kind, spec)
}

func machine(spec string) Objects {
	return Objects{Machine: object("Machine", spec), Bootstrap: object("KubeadmConfig", `{}`), Infrastructure: object("ExampleMachine", `{"size":"small"}`)}
}

func config(version, spec string) Objects {
	o := machine(fmt.Sprintf(`{"version":%q}`, version))
	o.Bootstrap = object("KubeadmConfig", spec)
	return o
}

func TestMachine(t *testing.T) {
	for _, test := range []struct {
		name             string
		from, to         string
		current, desired Objects
		uncovered        []string
	}{
		{
			name: "the version", from: "v1.34.3", to: "v1.34.4",
			current: machine(`{"version":"v1.34.3"}`), desired: machine(`{"version":"v1.34.4"}`),
		},
		{
			name: "what Cluster API does not compare", from: "v1.34.3", to: "v1.34.4",
			current: machine(`{"version":"v1.34.3","bootstrap":{"dataSecretName":"a"},"providerID":"a","deletion":{"nodeDrainTimeoutSeconds":1}}`),
			desired: machine(`{"version":"v1.34.4","bootstrap":{"dataSecretName":"b"},"minReadySeconds":3,"taints":[{}],"clusterName":"c"}`),
		},
		{
			name: "the failure domain", from: "v1.34.3", to: "v1.34.4",
			current: machine(`{"version":"v1.34.3","failureDomain":"1"}`), desired: machine(`{"version":"v1.34.4","failureDomain":"2"}`),
			uncovered: []string{"Machine spec.failureDomain"},
		},
		{
			name: "texts", from: "v1.34.3", to: "v1.35.0",
			current: config("v1.34.3", `{"files":[{"path":"/etc/v1.34.conf","content":"1.34.3"}],"preKubeadmCommands":["a","get v1.34.3"],"clusterConfiguration":{"imageRepository":"example.org/v1.34"}}`),
			desired: config("v1.35.0", `{"files":[{"path":"/etc/v1.35.conf","content":"1.35.0"}],"preKubeadmCommands":["a","get v1.35.0"],"clusterConfiguration":{"imageRepository":"example.org/v1.35"}}`),
		},
		{
			name: "a text that a machine reads later, too", from: "v1.34.3", to: "v1.34.4",
			current:   config("v1.34.3", `{"joinConfiguration":{"nodeRegistration":{"kubeletExtraArgs":[{"name":"node-labels","value":"v=v1.34.3"}]}}}`),
			desired:   config("v1.34.4", `{"joinConfiguration":{"nodeRegistration":{"kubeletExtraArgs":[{"name":"node-labels","value":"v=v1.34.4"}]}}}`),
			uncovered: []string{"KubeadmConfig spec.joinConfiguration.nodeRegistration.kubeletExtraArgs[0].value"},
		},
		{
			name: "a command more, and another file", from: "v1.34.3", to: "v1.34.4",
			current:   config("v1.34.3", `{"files":[{"path":"/a","content":"a"}],"preKubeadmCommands":["a"]}`),
			desired:   config("v1.34.4", `{"files":[{"path":"/a","content":"b"}],"preKubeadmCommands":["a","b"]}`),
			uncovered: []string{"KubeadmConfig spec.files[0].content", "KubeadmConfig spec.preKubeadmCommands"},
		},
		{
			name: "names with slashes", from: "v1.34.3", to: "v1.34.4",
			current: config("v1.34.3", `{"clusterConfiguration":{"a/b~c":"v1.34.3"}}`), desired: config("v1.34.4", `{"clusterConfiguration":{"a/b~c":"v1.34.4"}}`),
		},
		{
			name: "the gate that KubeadmControlPlane removes", from: "v1.35.4", to: "v1.36.0",
			current: config("v1.35.4", `{"clusterConfiguration":{"featureGates":{"ControlPlaneKubeletLocalMode":true}}}`), desired: config("v1.36.0", `{}`),
		},
		{
			name: "the gate beside others", from: "v1.35.4", to: "v1.36.0",
			current: config("v1.35.4", `{"clusterConfiguration":{"featureGates":{"A":true,"ControlPlaneKubeletLocalMode":true}}}`),
			desired: config("v1.36.0", `{"clusterConfiguration":{"featureGates":{"A":true}}}`),
		},
		{
			name: "the gate that it adds", from: "v1.30.4", to: "v1.31.0",
			current: config("v1.30.4", `{"clusterConfiguration":{}}`),
			desired: config("v1.31.0", `{"clusterConfiguration":{"featureGates":{"ControlPlaneKubeletLocalMode":true}}}`),
		},
		{
			name: "another gate", from: "v1.35.4", to: "v1.36.0",
			current:   config("v1.35.4", `{"clusterConfiguration":{"featureGates":{"A":true}}}`),
			desired:   config("v1.36.0", `{"clusterConfiguration":{"featureGates":{}}}`),
			uncovered: []string{"KubeadmConfig spec.clusterConfiguration.featureGates.A"},
		},
		{
			name: "the provider's machine", from: "v1.34.3", to: "v1.34.4",
			current:   machine(`{"version":"v1.34.3"}`),
			desired:   Objects{Machine: object("Machine", `{"version":"v1.34.4"}`), Bootstrap: object("KubeadmConfig", `{}`), Infrastructure: object("ExampleMachine", `{"size":"large","image":"v1.34.4"}`)},
			uncovered: []string{"ExampleMachine spec.image", "ExampleMachine spec.size"},
		},
		{
			name: "another kind", from: "v1.34.3", to: "v1.34.4",
			current:   machine(`{"version":"v1.34.3"}`),
			desired:   Objects{Machine: object("Machine", `{"version":"v1.34.4"}`), Bootstrap: object("OtherConfig", `{}`), Infrastructure: object("ExampleMachine", `{"size":"small"}`)},
			uncovered: []string{"the kind, OtherConfig instead of KubeadmConfig"},
		},
		{
			name: "no bootstrap config", from: "v1.34.3", to: "v1.34.4",
			current: Objects{Machine: object("Machine", `{"version":"v1.34.3"}`)}, desired: Objects{Machine: object("Machine", `{"version":"v1.34.4"}`)},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			answer, err := Machine(step(t, test.from, test.to), test.current, test.desired)
			if err != nil {
				t.Fatal(err)
			}
			if difference := cmp.Diff(test.uncovered, answer.Uncovered); difference != "" {
				t.Errorf("uncovered (-want +got):\n%s", difference)
			}
			if len(test.uncovered) == 0 {
				makesDesired(t, answer, test.current, test.desired, "spec")
			}
		})
	}
}

// makesDesired checks, as Cluster API does, that the patches make the current objects the desired ones.
func makesDesired(t testing.TB, answer Answer, current, desired Objects, root ...string) {
	t.Helper()
	for _, o := range []struct{ patch, current, desired []byte }{
		{answer.Machine, current.Machine, desired.Machine}, {answer.Bootstrap, current.Bootstrap, desired.Bootstrap}, {answer.Infrastructure, current.Infrastructure, desired.Infrastructure},
	} {
		got := o.current
		if o.patch != nil {
			patch, err := jsonpatch.DecodePatch(o.patch)
			if err != nil {
				t.Fatal(err)
			}
			if got, err = patch.Apply(got); err != nil {
				t.Fatalf("applying %s to %s: %v", o.patch, o.current, err)
			}
		}
		if difference := cmp.Diff(compared(t, o.desired, root), compared(t, got, root)); difference != "" {
			t.Errorf("the patch %s does not make the desired object (-want +got):\n%s", o.patch, difference)
		}
	}
}

// compared returns what Cluster API compares of an object.
func compared(t testing.TB, data []byte, root []string) any {
	t.Helper()
	if len(data) == 0 {
		return nil
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	for _, key := range root {
		value = field(value, key)
	}
	if spec, ok := value.(map[string]any); ok {
		for _, path := range machineSpec.ignored {
			delete(spec, path[0])
		}
	}
	return value
}

// TestCAPZ upgrades a control plane of Cluster API Provider Azure's flavor flatcar-sysext, whose template
// has the version in four places.
func TestCAPZ(t *testing.T) {
	text, err := os.ReadFile("testdata/capz-flatcar-sysext.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"v1.34.4", "v1.35.0"} {
		render := func(v string) Objects {
			minor := v[:strings.LastIndex(v, ".")]
			rendered := strings.NewReplacer("${KUBERNETES_VERSION%.*}", minor, "${KUBERNETES_VERSION}", v).Replace(string(text))
			spec, err := json.Marshal(map[string]any{"ignition": map[string]any{"containerLinuxConfig": map[string]any{"additionalConfig": rendered}}})
			if err != nil {
				t.Fatal(err)
			}
			return config(v, string(spec))
		}
		current, desired := render("v1.34.3"), render(to)
		answer, err := Machine(step(t, "v1.34.3", to), current, desired)
		if err != nil || len(answer.Uncovered) > 0 {
			t.Fatalf("to %s: got %v, %v", to, answer.Uncovered, err)
		}
		makesDesired(t, answer, current, desired, "spec")
		// With the sysupdate timer switched on as well, it is another change.
		desired.Bootstrap = []byte(strings.Replace(string(desired.Bootstrap), "enabled: false", "enabled: true", 1))
		answer, err = Machine(step(t, "v1.34.3", to), current, desired)
		want := []string{"KubeadmConfig spec.ignition.containerLinuxConfig.additionalConfig"}
		if difference := cmp.Diff(want, answer.Uncovered); err != nil || difference != "" {
			t.Errorf("to %s, with the timer (-want +got, %v):\n%s", to, err, difference)
		}
	}
}

// TestPatches makes objects, changes them, and checks that either the patches make the desired objects,
// or a field is named.
func TestPatches(t *testing.T) {
	keys := rapid.SampledFrom([]string{"clusterConfiguration", "files", "preKubeadmCommands", "ignition", "containerLinuxConfig", "additionalConfig", "featureGates", localModeGate, "joinConfiguration", "a/b", "~"})
	rapid.Check(t, func(r *rapid.T) {
		from, to := versions(r)
		leaf := rapid.OneOf(
			rapid.Map(rapid.SampledFrom([]string{from.String(), from.Line(), "x " + from.String() + ".raw", "<&>", ""}), func(s string) any { return s }),
			rapid.Map(rapid.Bool(), func(b bool) any { return b }),
			rapid.Map(rapid.IntRange(-3, 1<<53), func(i int) any { return json.Number(fmt.Sprint(i)) }),
		)
		var value func(depth int) *rapid.Generator[any]
		value = func(depth int) *rapid.Generator[any] {
			if depth == 0 {
				return leaf
			}
			return rapid.OneOf(leaf,
				rapid.Map(rapid.SliceOfN(value(depth-1), 0, 3), func(l []any) any { return l }),
				rapid.Map(rapid.MapOfN(keys, value(depth-1), 0, 4), func(m map[string]any) any { return m }))
		}
		spec := rapid.MapOfN(keys, value(3), 0, 5).Draw(r, "spec")
		changed := change(r, spec, from, to, keys, leaf)
		current, desired := template(r, from, spec), template(r, to, changed)
		answer, err := MachineSet(Step{from, to}, current, desired)
		if err != nil {
			r.Fatal(err)
		}
		if len(answer.Uncovered) > 0 {
			return
		}
		for _, o := range []struct{ patch, current, desired []byte }{{answer.Machine, current.Machine, desired.Machine}, {answer.Bootstrap, current.Bootstrap, desired.Bootstrap}} {
			got := o.current
			if o.patch != nil {
				patch, err := jsonpatch.DecodePatch(o.patch)
				if err != nil {
					r.Fatal(err)
				}
				if got, err = patch.Apply(got); err != nil {
					r.Fatalf("applying %s to %s: %v", o.patch, o.current, err)
				}
			}
			if !jsonpatch.Equal(got, o.desired) {
				r.Fatalf("%s made of\n%s\ngot\n%s\nwant\n%s", o.patch, o.current, got, o.desired)
			}
		}
	})
}

func template(r *rapid.T, v version.Version, spec any) Objects {
	data, err := json.Marshal(map[string]any{"kind": "KubeadmConfigTemplate", "spec": map[string]any{"template": map[string]any{"spec": spec}}})
	if err != nil {
		r.Fatal(err)
	}
	return Objects{
		Machine:   fmt.Appendf(nil, `{"kind":"MachineSet","spec":{"template":{"spec":{"version":%q}}}}`, v),
		Bootstrap: data,
	}
}

// change copies a value, replaces the version in texts and, sometimes, changes something else.
func change(r *rapid.T, value any, from, to version.Version, keys *rapid.Generator[string], leaf *rapid.Generator[any]) any {
	if rapid.IntRange(0, 60).Draw(r, "other") == 0 {
		return leaf.Draw(r, "leaf")
	}
	switch value := value.(type) {
	case string:
		if rapid.Bool().Draw(r, "stays") {
			return value
		}
		return strings.NewReplacer(from.String(), to.String(), from.Line(), to.Line()).Replace(value)
	case []any:
		list := []any{}
		for _, element := range value {
			list = append(list, change(r, element, from, to, keys, leaf))
		}
		return list
	case map[string]any:
		fields := map[string]any{}
		for key, element := range value {
			if key == localModeGate && rapid.Bool().Draw(r, "gone") {
				continue
			}
			fields[key] = change(r, element, from, to, keys, leaf)
		}
		if rapid.IntRange(0, 40).Draw(r, "more") == 0 {
			fields[keys.Draw(r, "key")] = leaf.Draw(r, "leaf")
		}
		return fields
	}
	return value
}

func FuzzMachine(f *testing.F) {
	f.Add([]byte(`{"kind":"KubeadmConfig","spec":{"files":[{"content":"v1.34.3"}]}}`), []byte(`{"kind":"KubeadmConfig","spec":{"files":[{"content":"v1.34.4"}]}}`))
	f.Add([]byte(`{"spec":null}`), []byte(`[]`))
	f.Fuzz(func(t *testing.T, current, desired []byte) {
		answer, err := Machine(step(t, "v1.34.3", "v1.34.4"), Objects{Bootstrap: current}, Objects{Bootstrap: desired})
		if err != nil || len(answer.Uncovered) > 0 || answer.Bootstrap == nil {
			return
		}
		patch, err := jsonpatch.DecodePatch(answer.Bootstrap)
		if err != nil {
			t.Fatalf("patch %s: %v", answer.Bootstrap, err)
		}
		if _, err := patch.Apply(current); err != nil {
			t.Errorf("applying %s to %q: %v", answer.Bootstrap, current, err)
		}
	})
}
