package agent

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// TestRefusedReportShowsOnTheNode has the API server refuse what the agent reports, in its NodeUpgrade or its
// NodeInventory: one event on the Node says so, with the object and the field.
func TestRefusedReportShowsOnTheNode(t *testing.T) {
	const at = "/spec/versions/0/schema/openAPIV3Schema/properties/"
	for _, row := range []struct{ plural, path, want, field string }{
		{"nodeupgrades", at + "status/properties/versions/properties/kubelet/maxLength", "NodeUpgrade agent-refused cannot be written: ", "status.versions.kubelet: Too long"},
		{"nodeinventories", at + "installed/items/maxLength", "NodeInventory agent-refused cannot be written: ", "installed[0]: Too long"},
	} {
		t.Run(row.plural, func(t *testing.T) {
			c := newCluster(t, "agent-refused")
			t.Cleanup(func() { apitest.InstallCRDs(t, c.config) }) // other tests use this API server, too
			c.limit(row.plural, row.path)
			c.order(v1alpha1.ReleaseNone)
			c.run()
			for end := time.Now().Add(90 * time.Second); ; time.Sleep(200 * time.Millisecond) {
				list, err := c.admin.CoreV1().Events("default").List(context.Background(), metav1.ListOptions{FieldSelector: "reason=APIWriteFailed,involvedObject.uid=" + c.owner.UID})
				c.must(err)
				if len(list.Items) == 1 {
					if e := list.Items[0]; !strings.HasPrefix(e.Message, row.want) || !strings.Contains(e.Message, row.field) || e.Count != 1 {
						t.Errorf("recorded %d times: %s", e.Count, e.Message)
					}
					return
				}
				if len(list.Items) > 1 || time.Now().After(end) {
					t.Fatalf("%d events: %+v", len(list.Items), list.Items)
				}
			}
		})
	}
}

// limit has the API server take one character in a field of a kind.
func (c *cluster) limit(plural, path string) {
	c.t.Helper()
	definitions := dynamic.NewForConfigOrDie(c.config).Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	patch := fmt.Sprintf(`[{"op":"add","path":%q,"value":1}]`, path)
	_, err := definitions.Patch(c.t.Context(), plural+"."+v1alpha1.Group, types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	c.must(err)
}
