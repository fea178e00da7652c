package coordinator_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/secret"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

const upgradeName = "v1.34.4"

// chat is a receiver of notices that may refuse them.
type chat struct {
	*httptest.Server
	mutex   sync.Mutex
	refuses bool
	got     []string
}

func newChat(t *testing.T) *chat {
	c := &chat{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		c.mutex.Lock()
		defer c.mutex.Unlock()
		if c.refuses {
			http.Error(w, "not now", http.StatusServiceUnavailable)
			return
		}
		c.got = append(c.got, string(text))
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *chat) refuse(refuses bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.refuses = refuses
}

// messages returns what it got.
func (c *chat) messages() []string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return slices.Clone(c.got)
}

// has returns how many messages contain the text.
func (c *chat) has(text string) (count int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, one := range c.got {
		if strings.Contains(one, text) {
			count++
		}
	}
	return count
}

// secret creates the Secret with the chat's address, and grants the coordinator to read it.
func (c *cluster) secret(name, address string) {
	c.Helper()
	_, err := c.kube.CoreV1().Secrets(v1alpha1.Namespace).Create(c.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"url": address}}, metav1.CreateOptions{})
	c.must(err)
}

func (c *cluster) grant(name string) {
	c.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "coordinator-secret-" + name}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{name}, Verbs: []string{"get"}}}}
	_, err := c.kube.RbacV1().Roles(v1alpha1.Namespace).Create(c.Context(), role, metav1.CreateOptions{})
	c.must(err)
	binding := &rbacv1.RoleBinding{
		ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "coordinator", Namespace: v1alpha1.Namespace}},
	}
	_, err = c.kube.RbacV1().RoleBindings(v1alpha1.Namespace).Create(c.Context(), binding, metav1.CreateOptions{})
	c.must(err)
}

// records returns the events in the status of the upgrade to upgradeName.
func (c *cluster) records() []v1alpha1.NoticeRecord {
	c.Helper()
	u, err := c.ours.ClusterUpgrades.Get(c.Context(), upgradeName, metav1.GetOptions{})
	c.must(err)
	return u.Status.Notices
}

// TestNotices follows a patch whose chat first refuses everything, with a change of leader meanwhile.
// The next leader sends what this one could not, and each event arrives once.
func TestNotices(t *testing.T) {
	c := newCluster(t, "cp1", "w1")
	room := newChat(t)
	room.refuse(true)
	c.secret("chat", "generic+"+room.URL+"/hook?token=TOPSECRET")
	c.grant("chat")
	c.policy(func(p *v1alpha1.UpgradePolicy) {
		p.Spec.ClusterName = "prod-eu-1"
		p.Spec.Notices = []v1alpha1.Notice{
			{Name: "chat", URLSecretRef: v1alpha1.SecretKeyReference{Name: "chat"}, Template: "staging: {{.Text}}"},
			{Name: "ends", URLSecretRef: v1alpha1.SecretKeyReference{Name: "chat"}, Events: []v1alpha1.NoticeEvent{v1alpha1.NoticeEnded}, Template: "ends: {{.Event}} {{.Outcome}} {{.ID}}"},
		}
	})
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.index.offer("v1.34.4")
	c.startAgent("cp1")
	c.startAgent("w1")
	stop := c.startCoordinator("one")
	c.eventually(func() string {
		if u, err := c.ours.ClusterUpgrades.Get(t.Context(), upgradeName, metav1.GetOptions{}); err != nil || u.Status.Outcome == "" {
			return fmt.Sprintf("a chat that refuses everything holds the upgrade: %v, %+v", err, u.Status.Conditions)
		}
		return ""
	})
	stop()
	if n := room.has(""); n != 0 {
		t.Fatalf("the chat took %d messages", n)
	}
	pending := 0
	for _, r := range c.records() {
		pending += len(r.Pending)
	}
	if pending < 3 {
		t.Fatalf("%d are pending: %+v", pending, c.records())
	}
	room.refuse(false)
	c.startCoordinator("two")
	c.eventually(func() string {
		for _, r := range c.records() {
			if len(r.Pending)+len(r.Failed) > 0 {
				return fmt.Sprintf("%s is not sent: %+v", r.Event, r)
			}
		}
		return ""
	})
	for text, want := range map[string]int{"staging: prod-eu-1: Upgrade " + upgradeName: len(c.records()), "began": 1, "ended: Succeeded": 1, "ends: Ended Succeeded": 1} {
		if got := room.has(text); got != want {
			t.Errorf("%d messages with %q, want %d: %q", got, text, want, room.messages())
		}
	}
	for _, r := range c.records() {
		if room.has(r.ID) == 0 {
			t.Errorf("no message has the id of %+v", r)
		}
	}
}

// TestNoticesThatCannotBeSent checks the condition and the event of a policy whose notices have a Secret
// that may not be read, one with a template that does not parse, and an address that does not answer;
// the patch goes on. What grants the right is in the message. The token is nowhere.
func TestNoticesThatCannotBeSent(t *testing.T) {
	c := newCluster(t, "cp1", "w1")
	room := newChat(t)
	c.secret("chat", "generic+"+room.URL+"/hook?token=TOPSECRET")
	c.policy(func(p *v1alpha1.UpgradePolicy) {
		p.Spec.Notices = []v1alpha1.Notice{{Name: "chat", URLSecretRef: v1alpha1.SecretKeyReference{Name: "chat"}}, {Name: "wrong", URLSecretRef: v1alpha1.SecretKeyReference{Name: "chat"}, Template: "{{.Text"}}
	})
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.index.offer("v1.34.4")
	c.startAgent("cp1")
	c.startAgent("w1")
	c.startCoordinator("one")
	condition := func() *metav1.Condition {
		p, err := c.ours.UpgradePolicies.Get(t.Context(), v1alpha1.PolicyName, metav1.GetOptions{})
		c.must(err)
		if meta.IsStatusConditionFalse(p.Status.Conditions, v1alpha1.ConditionValid) {
			t.Errorf("a notice makes the policy invalid: %+v", p.Status.Conditions)
		}
		return meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionNoticesFailed)
	}
	c.eventually(func() string {
		if found := condition(); found == nil || found.Reason != secret.ReasonForbidden || !strings.Contains(found.Message, secret.Grant("chat")) {
			return fmt.Sprintf("the condition is %+v", found)
		}
		return ""
	})
	c.eventually(func() string {
		if u, err := c.ours.ClusterUpgrades.Get(t.Context(), upgradeName, metav1.GetOptions{}); err != nil || u.Status.Outcome != v1alpha1.OutcomeSucceeded {
			return "notices that cannot be sent hold the upgrade"
		}
		return ""
	})
	c.grant("chat")
	c.eventually(func() string {
		found := condition()
		if room.has("ended: Succeeded") == 0 || found == nil || found.Reason != "NotSent" || !strings.HasPrefix(found.Message, "notice wrong: its template cannot be used: it does not parse") {
			return fmt.Sprintf("with the Role: %q, the condition is %+v", room.messages(), found)
		}
		return ""
	})
	c.policy(func(p *v1alpha1.UpgradePolicy) { p.Spec.Notices = p.Spec.Notices[:1] })
	c.eventually(func() string {
		if found := condition(); found != nil {
			return fmt.Sprintf("corrected, and the condition is %+v", found)
		}
		return ""
	})
	events, err := c.kube.CoreV1().Events(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
	c.must(err)
	policy, err := c.ours.UpgradePolicies.Get(t.Context(), v1alpha1.PolicyName, metav1.GetOptions{})
	c.must(err)
	upgrades, err := c.ours.ClusterUpgrades.List(t.Context(), metav1.ListOptions{})
	c.must(err)
	text, err := json.Marshal([]any{events, policy, upgrades})
	c.must(err)
	if !strings.Contains(string(text), `"reason":"NoticesFailed"`) {
		t.Error("there is no event NoticesFailed")
	}
	if strings.Contains(string(text), "TOPSECRET") {
		t.Error("the token is in an object")
	}
}

// TestAutomaticPatchIsAnnounced checks that an automatic patch with a notice time is told about when
// it is created, with its start and the nodes that are expected to be the first and the last, and that
// no node begins.
func TestAutomaticPatchIsAnnounced(t *testing.T) {
	c := newCluster(t, "cp1", "w1")
	room := newChat(t)
	c.secret("chat", "generic+"+room.URL)
	c.grant("chat")
	c.policy(func(p *v1alpha1.UpgradePolicy) {
		p.Spec.Automatic[0].NoticeSeconds = ptr.To[int32](7200)
		p.Spec.Notices = []v1alpha1.Notice{{Name: "chat", URLSecretRef: v1alpha1.SecretKeyReference{Name: "chat"}}}
	})
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.startAgent("cp1")
	c.startAgent("w1")
	c.index.offer("v1.34.3")
	c.startCoordinator("one")
	for _, name := range []string{"cp1", "w1"} {
		c.eventually(func() string {
			if n, err := c.ours.NodeUpgrades.Get(t.Context(), name, metav1.GetOptions{}); err != nil || n.Status.Step != v1alpha1.StepIdle {
				return fmt.Sprintf("%s is not idle: %v", name, err)
			}
			return ""
		})
	}
	if failed := c.policyCondition(v1alpha1.ConditionNoticesFailed); failed != nil {
		t.Errorf("before the first event: %+v", failed)
	}
	c.index.offer("v1.34.3", "v1.34.4")
	c.eventually(func() string {
		if room.has("is announced: no node begins before") == 0 {
			return fmt.Sprintf("the chat got %q", room.messages())
		}
		return ""
	})
	c.eventually(c.everyNodeHeldBy(v1alpha1.ReasonNotStarted))
	u := c.upgrade(upgradeName)
	if start := u.Spec.StartTime; start == nil || start.Sub(u.CreationTimestamp.Time).Round(10*time.Second) != 2*time.Hour {
		t.Fatalf("created %v, it starts %v", u.CreationTimestamp, start)
	}
	starts := clusterstate.FormatTime(u.Spec.StartTime.Time)
	for _, want := range []string{"no node begins before " + starts + "; node cp1 is expected to be the first, at ", ", and node w1 the last, back at ", "`kubectl upgrade suspend v1.34.4`"} {
		if room.has(want) != 1 {
			t.Errorf("no message with %q: %q", want, room.messages())
		}
	}
	if _, message := u.Status.Explain(); message != "upgrade v1.34.4 is announced, and starts "+starts {
		t.Errorf("the upgrade says %q", message)
	}
	for _, name := range []string{"cp1", "w1"} {
		if n := c.nodeUpgrade(name); n.Spec.Release.Granted() {
			t.Errorf("%s is released: %+v", name, n.Spec)
		}
	}
}
