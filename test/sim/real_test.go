package sim

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// side is an API server, real or simulated.
type side struct {
	kube   kubernetes.Interface
	ours   *kube.Kinds
	newest map[string]string // the resourceVersion of each object
}

// TestAgainstRealServer makes the same random requests of a real API server and of the
// simulated one, and compares what both answer and store.
func TestAgainstRealServer(t *testing.T) {
	config := apitest.Start(t)
	apitest.InstallCRDs(t, config)
	ours, err := kube.NewKinds(config)
	if err != nil {
		t.Fatal(err)
	}
	nothing := func(request) error { return nil }
	simulated := newClients(&transport{by: "test", api: newAPI(), before: nothing, after: nothing}, func(t http.RoundTripper) http.RoundTripper { return t })
	sides := []*side{
		{kube: kubernetes.NewForConfigOrDie(config), ours: ours, newest: map[string]string{}},
		{kube: simulated.kube, ours: simulated.ours, newest: map[string]string{}},
	}
	if _, err := sides[0].kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.Namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 400 {
		name, do := anyRequest(r)
		var results [2]string
		for j, s := range sides {
			results[j] = do(t.Context(), s)
		}
		if diff := cmp.Diff(results[0], results[1]); diff != "" {
			t.Fatalf("request %d, %s (-real +simulated):\n%s", i, name, diff)
		}
	}
}

// result describes what a server answered. UIDs and times differ between servers.
func (s *side) result(kind string, object metav1.Object, err error) string {
	if err != nil {
		return "error " + string(apierrors.ReasonForError(err))
	}
	s.newest[kind+"/"+object.GetName()] = object.GetResourceVersion()
	if nu, is := object.(*v1alpha1.NodeUpgrade); is { // no program relies on their order
		slices.SortFunc(nu.Status.Conditions, func(a, b metav1.Condition) int { return strings.Compare(a.Type, b.Type) })
	}
	object.SetManagedFields(nil)
	object.SetUID("")
	object.SetCreationTimestamp(metav1.Time{})
	object.SetResourceVersion("") // a real server also counts changes of managedFields
	data, _ := json.MarshalIndent(object, "", " ")
	return string(data)
}

// version returns the newest resourceVersion of an object, or a stale one.
func (s *side) version(id string, stale bool) string {
	if stale || s.newest[id] == "" {
		return "1"
	}
	return s.newest[id]
}
