package notice

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/notice/wire"
)

// receiver stands for the process that sends. Each notice's Secret has its name as address.
type receiver struct {
	*Sender
	mutex    sync.Mutex
	problems map[string]wire.Answer // by address
	hangs    map[string]bool
	got      []string // address and id
	tries    map[string]int
	running  int
	most     int
}

// newReceiver runs a Sender until the test ends.
func newReceiver(t *testing.T, notices ...string) *receiver {
	r := &receiver{problems: map[string]wire.Answer{}, hangs: map[string]bool{}, tries: map[string]int{}}
	client := fake.NewClientset()
	for _, name := range notices {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{"url": []byte(name)}}
		if _, err := client.CoreV1().Secrets(v1alpha1.Namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	r.Sender = NewSender(Config{Secrets: client.CoreV1(), Log: slog.New(slog.NewTextHandler(t.Output(), nil)), OnNews: func() {}})
	r.send = r.take
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { r.Run(ctx); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })
	return r
}

func (r *receiver) take(ctx context.Context, o wire.Message) wire.Answer {
	r.mutex.Lock()
	r.running++
	r.most = max(r.most, r.running)
	hangs, problem := r.hangs[o.URL] && !o.CheckOnly, r.problems[o.URL]
	if !o.CheckOnly {
		r.tries[o.URL]++
	}
	r.mutex.Unlock()
	if hangs {
		<-ctx.Done()
		problem = wire.Answer{Problem: wire.ProblemEnded}
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.running--
	if problem.Problem == "" && !o.CheckOnly {
		r.got = append(r.got, o.URL+" "+o.Data.ID)
	}
	return problem
}

// sent returns what was sent: address and id of each.
func (r *receiver) sent() string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return fmt.Sprint(r.got)
}

// tried returns how often sending to an address was tried.
func (r *receiver) tried(address string) int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.tries[address]
}

// atOnce returns how many were being sent at most at one time.
func (r *receiver) atOnce() int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.most
}

// answer sets what the address chat answers.
func (r *receiver) answer(a wire.Answer) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.problems["chat"] = a
}

// pass lets time pass, and waits until every goroutine of the bubble waits for something.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func wanted(names ...string) (list []v1alpha1.Notice) {
	for _, name := range names {
		list = append(list, v1alpha1.Notice{Name: name, URLSecretRef: v1alpha1.SecretKeyReference{Name: name}})
	}
	return list
}

func waiting(name string, ids ...string) (list []Pending) {
	for _, id := range ids {
		list = append(list, Pending{Key: Key{id, name}, Time: time.Now(), Data: wire.Data{ID: id}})
	}
	return list
}

// TestDeadAddress checks that an address that hangs is retried with growing pauses, holds up no
// other, becomes a trouble, and is given up after an hour.
func TestDeadAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReceiver(t, "dead", "alive")
		r.hangs["dead"] = true
		r.Update(wanted("dead", "alive"), append(waiting("dead", "1", "2"), waiting("alive", "1", "2")...))
		pass(time.Second)
		if got := r.sent(); got != "[alive 1 alive 2]" {
			t.Errorf("after a second: got %s", got)
		}
		if list, tried := r.Troubles(); list != nil || tried {
			t.Errorf("after a second: %v, %v", list, tried)
		}
		pass(3 * time.Minute)
		list, tried := r.Troubles()
		if len(list) != 1 || list[0].Notice != "dead" || !tried || !strings.Contains(list[0].Message, "longer than 30s") {
			t.Errorf("after three minutes: %+v, %v", list, tried)
		}
		if n := r.tried("dead"); n < 3 || n > 5 {
			t.Errorf("tried %d times in three minutes", n)
		}
		pass(90 * time.Minute)
		if got := r.Results()[Key{"1", "dead"}]; got != GaveUp {
			t.Errorf("after 90 minutes: got %v, want that it was given up", got)
		}
		if n := r.tried("dead"); n > 20 {
			t.Errorf("tried %d times in all", n)
		}
		if list, _ := r.Troubles(); len(list) != 1 {
			t.Errorf("given up, and no trouble: %v", list)
		}
	})
}

// TestComesBack checks that what was pending is sent, in order, once the address answers, and once only.
func TestComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReceiver(t, "chat")
		r.answer(wire.Answer{Problem: wire.ProblemStatus, Status: 503})
		r.Update(wanted("chat"), waiting("chat", "1", "2"))
		pass(2 * time.Minute)
		list, _ := r.Troubles()
		if len(list) != 1 || list[0].Message != "the service answered 503 (Service Unavailable)" {
			t.Errorf("while it answers 503: %+v", list)
		}
		r.answer(wire.Answer{})
		pass(6 * time.Minute)
		if got := r.sent(); got != "[chat 1 chat 2]" {
			t.Errorf("got %s", got)
		}
		if list, tried := r.Troubles(); list != nil || !tried {
			t.Errorf("afterwards: %v, %v", list, tried)
		}
		r.Update(wanted("chat"), waiting("chat", "1", "2")) // as the status is not written yet
		pass(time.Hour)
		if r.sent() != "[chat 1 chat 2]" {
			t.Errorf("sent again: %s", r.sent())
		}
		r.Update(wanted("chat"), nil)
		if got := r.Results(); len(got) != 0 {
			t.Errorf("results that statuses have are kept: %v", got)
		}
	})
}

// TestWrongNotice checks that a notice that cannot work is a trouble before there is an event, and
// none as soon as it is corrected.
func TestWrongNotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReceiver(t, "chat")
		r.answer(wire.Answer{Problem: wire.ProblemTemplate, Detail: "it does not parse"})
		r.Update(wanted("missing", "chat"), nil)
		pass(time.Second)
		list, tried := r.Troubles()
		if len(list) != 2 || !tried || list[0].Reason != "SecretNotFound" || list[1].Reason != reasonNotSent {
			t.Fatalf("got %+v, %v", list, tried)
		}
		if reason, message := Message(list); reason != "SecretNotFound" || !strings.Contains(message, "notice missing: Secret kubectl-upgrade/missing does not exist") || !strings.Contains(message, "; notice chat: its template cannot be used: it does not parse") {
			t.Errorf("got %s: %s", reason, message)
		}
		r.answer(wire.Answer{})
		corrected := wanted("chat")
		corrected[0].Template = "{{.Text}}"
		r.Update(corrected, nil)
		pass(time.Second)
		if list, _ := r.Troubles(); list != nil {
			t.Errorf("corrected: %v", list)
		}
		if r.tried("chat") != 0 {
			t.Error("something was sent without an event")
		}
	})
}

// TestManyNotices checks how many are sent at a time.
func TestManyNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names []string
		for i := range 8 {
			names = append(names, fmt.Sprint("n", i))
		}
		r := newReceiver(t, names...)
		var all []Pending
		for _, name := range names {
			r.hangs[name] = true
			all = append(all, waiting(name, "1", "2", "3")...)
		}
		r.Update(wanted(names...), all)
		pass(10 * time.Minute)
		if r.atOnce() != maxRunning {
			t.Errorf("%d at a time, want %d", r.atOnce(), maxRunning)
		}
		for _, name := range names {
			if r.tried(name) < 3 {
				t.Errorf("%s was tried %d times", name, r.tried(name))
			}
		}
	})
}
