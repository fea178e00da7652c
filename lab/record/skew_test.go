package record

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func kubelet(revision int64, name, version string) Moment {
	return Moment{Revision: revision, Resource: "nodes", Object: &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": name},
		"status":   map[string]any{"nodeInfo": map[string]any{"kubeletVersion": version}},
	}}}
}

func rollback(revision int64, to string) Moment {
	return Moment{Revision: revision, Resource: "clusterupgrades", Object: &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"type": "Rollback", "version": to},
	}}}
}

func apiserver(revision int64, node, version string) Moment {
	return Moment{Revision: revision, Resource: "pods", Object: &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "kube-apiserver-" + node, "namespace": "kube-system", "labels": map[string]any{"component": "kube-apiserver"}},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "kube-apiserver", "image": "registry.k8s.io/kube-apiserver:" + version}}},
	}}}
}

func TestSkew(t *testing.T) {
	before := []Moment{
		kubelet(1, "cp1", "v1.34.4"), kubelet(2, "w1", "v1.34.4"),
		apiserver(3, "cp1", "v1.34.4"), apiserver(4, "cp2", "v1.34.4"),
	}
	for name, c := range map[string]struct {
		then []Moment
		want int
	}{
		"apiservers first":               {[]Moment{apiserver(5, "cp1", "v1.35.4"), apiserver(6, "cp2", "v1.35.4"), kubelet(7, "w1", "v1.35.4")}, 0},
		"a kubelet before one apiserver": {[]Moment{apiserver(5, "cp1", "v1.35.4"), kubelet(6, "w1", "v1.35.4"), apiserver(7, "cp2", "v1.35.4")}, 1},
		"a kubelet goes back":            {[]Moment{kubelet(5, "w1", "v1.34.3")}, 1},
		"a Rollback asks for it":         {[]Moment{rollback(5, "v1.34.3"), kubelet(6, "w1", "v1.34.3")}, 0},
		"a Rollback asks for another":    {[]Moment{rollback(5, "v1.34.2"), kubelet(6, "w1", "v1.34.3")}, 1},
		"a minor back":                   {[]Moment{rollback(5, "v1.33.9"), kubelet(6, "w1", "v1.33.9")}, 1},
	} {
		broken, err := Skew(append(append([]Moment{}, before...), c.then...))
		if err != nil || len(broken) != c.want {
			t.Errorf("%s: %q, %v; want %d broken", name, broken, err, c.want)
		}
	}
}
