package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// TestNotReadyWhileRefused checks that an agent whose status is refused is not ready, also when ReadyWithin has passed,
// and is ready once the API server takes the status.
func TestNotReadyWhileRefused(t *testing.T) {
	c := newCluster(t, "agent-refused")
	t.Cleanup(func() { apitest.InstallCRDs(t, c.config) })
	c.limit("nodeupgrades", "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/versions/properties/kubelet/maxLength")
	c.readyWithin = 5 * time.Second
	c.order(v1alpha1.ReleaseNone)
	c.run()
	time.Sleep(c.readyWithin + 5*time.Second)
	if c.ready.Load() > 0 {
		t.Error("it is ready, and cannot write its status")
	}
	apitest.InstallCRDs(t, c.config)
	c.awaitReady()
}

// TestRefusal checks that the agent ends once the API server has refused its status for a while, and not
// because it is silent.
func TestRefusal(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "nodeupgrades"}, "w1", errors.New("no rights"))
	silent := errors.New("connection refused")
	for name, test := range map[string]struct {
		answers []error // one a minute
		ends    bool
	}{
		"it is taken":                   {[]error{nil, nil, nil, nil}, false},
		"it is refused":                 {[]error{nil, forbidden, forbidden, forbidden}, true},
		"it is refused for a minute":    {[]error{forbidden, forbidden, nil, forbidden}, false},
		"nobody answers":                {[]error{nil, silent, silent, silent, silent}, false},
		"nobody answers any more":       {[]error{forbidden, silent, silent, silent}, false},
		"a conflict is none":            {[]error{apierrors.NewConflict(schema.GroupResource{}, "w1", nil), nil, nil}, false},
		"an expired token is refused":   {[]error{apierrors.NewUnauthorized("expired"), silent, apierrors.NewUnauthorized("expired")}, true},
		"a webhook has refused it once": {[]error{forbidden, nil, nil, nil}, false},
	} {
		now := time.Date(2026, 11, 30, 1, 0, 0, 0, time.UTC)
		p := reportSense{Config: &Config{Node: "w1", Now: func() time.Time { return now }}}
		var got error
		for _, answer := range test.answers {
			p.noteAnswer(answer)
			got = cmp.Or(got, p.refusal())
			now = now.Add(time.Minute)
		}
		if (got != nil) != test.ends || got != nil && !strings.HasPrefix(got.Error(), "the API server has refused the status of NodeUpgrade w1 for 2m0s: ") {
			t.Errorf("%s: got %v, ends %t", name, got, test.ends)
		}
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
