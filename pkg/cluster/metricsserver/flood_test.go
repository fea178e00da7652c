package metricsserver

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
)

// clientAt returns an HTTP client whose connections come from an address of this machine.
func clientAt(address string, keepAlive bool) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: !keepAlive,
	}}
}

// scrapeServer requests the metrics.
func scrapeServer(client *http.Client, address, token string) (int, error) {
	request, err := http.NewRequest(http.MethodGet, "https://"+address+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, response.Body) // else the connection is not kept
	return response.StatusCode, errors.Join(err, response.Body.Close())
}

// reader creates a ServiceAccount that may read metrics and returns a token of it.
func reader(t *testing.T, admin kubernetes.Interface, name string) string {
	t.Helper()
	token := account(t, admin, name)
	_, err := admin.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "kubectl-upgrade-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "kubectl-upgrade", Name: name}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// TestFlood checks that two clients go on reading while others hold 10,000 connections and send
// 1,000 unknown tokens a second: one that keeps its connection, and one that connects anew each
// time and changes its token in the middle, as Prometheus does every hour.
func TestFlood(t *testing.T) {
	var requests atomic.Int64
	config, admin := coordinator(t, &requests)
	review, err := NewReviewer(config, discard())
	if err != nil {
		t.Fatal(err)
	}
	_, address := start(t, Config{Review: review, Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("series 1")) })})
	eventually(t, "200 ok", func() string { return get("https://"+address+"/readyz", "") })
	tokens := []string{reader(t, admin, "first"), reader(t, admin, "second")}
	keeping, renewing := clientAt("127.0.0.3", true), clientAt("127.0.0.4", false)
	eventually(t, "200", func() string {
		status, err := scrapeServer(keeping, address, tokens[0])
		return fmt.Sprint(status, err)
	})
	eventually(t, "200", func() string {
		status, err := scrapeServer(keeping, address, tokens[1])
		return fmt.Sprint(status, err)
	})
	review.mutex.Lock()
	clear(review.accepted) // the coordinator has just started
	review.mutex.Unlock()

	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	memory := heap()
	open := hold(t, address, 10_000)
	eventually(t, "true", func() string { return fmt.Sprint(alive(open) <= maxOfClient) })
	refused := flood(ctx, &all, address)
	requests.Store(0)
	const rounds, tokensSent = 40, 2000
	began := time.Now()
	for i := 0; i < rounds || refused.Load() < tokensSent; i++ {
		for name, client := range map[string]*http.Client{"that keeps its connection": keeping, "that connects anew": renewing} {
			if status, err := scrapeServer(client, address, tokens[min(i*len(tokens)/rounds, 1)]); status != http.StatusOK || err != nil {
				t.Errorf("round %d: the client %s got %d, %v", i, name, status, err)
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	seconds := time.Since(began).Seconds()
	if most := int64(seconds*allRate) + allBurst + 8; requests.Load() > most {
		t.Errorf("%d requests went to the API server, want at most %d", requests.Load(), most)
	}
	t.Logf("in %.1f s %d unknown tokens were refused; %d requests went to the API server; the heap grew by %d KiB", seconds, refused.Load(), requests.Load(), (heap()-memory)>>10)
}

// TestTokenChangesBesideOthers checks that a client which keeps its connection may change its token
// while others at the same address, as behind one gateway, use up the budget of that address; and that
// a token which is refused ends that.
func TestTokenChangesBesideOthers(t *testing.T) {
	kube := fake.NewClientset()
	kube.PrependReactor("create", "tokenreviews", func(action k8stesting.Action) (bool, runtime.Object, error) {
		asked := action.(k8stesting.CreateAction).GetObject().(*authenticationv1.TokenReview)
		asked.Status.Authenticated = strings.HasPrefix(asked.Spec.Token, "good")
		return true, asked, nil
	})
	kube.PrependReactor("create", "subjectaccessreviews", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, &authorizationv1.SubjectAccessReview{Status: authorizationv1.SubjectAccessReviewStatus{Allowed: true}}, nil
	})
	review := newReviewer(kube, discard())
	at := time.Unix(0, 0)
	review.now = func() time.Time { return at } // so that no budget fills up
	_, address := start(t, Config{Review: review, Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("series 1")) })})
	eventually(t, "200 ok", func() string { return get("https://"+address+"/readyz", "") })
	keeping, other := clientAt("127.0.0.1", true), clientAt("127.0.0.1", false)
	for i, step := range []struct {
		client *http.Client
		token  string
		times  int
		want   int // the last answer
	}{
		{keeping, "good", 1, http.StatusOK},
		{other, "bad", clientBurst - 1, http.StatusUnauthorized},
		{other, "worse", 1, http.StatusTooManyRequests},
		{other, "good, and new", 1, http.StatusTooManyRequests},
		{keeping, "good, and newer", 1, http.StatusOK},
		{keeping, "bad, too", 1, http.StatusUnauthorized},
		{keeping, "bad, also", 1, http.StatusTooManyRequests},
	} {
		for n := range step.times {
			token := step.token
			if step.times > 1 {
				token += fmt.Sprint(n)
			}
			if got, err := scrapeServer(step.client, address, token); got != step.want || err != nil {
				t.Errorf("step %d: %q got %d %v, want %d", i, token, got, err, step.want)
			}
		}
	}
}

func heap() int64 {
	var m goruntime.MemStats
	goruntime.GC()
	goruntime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// hold opens n connections that send nothing.
func hold(t *testing.T, address string, n int) []net.Conn {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 5)}, Timeout: 10 * time.Second}
	open := make([]net.Conn, 0, n)
	for range n {
		conn, err := dialer.Dial("tcp", address)
		if err != nil {
			t.Fatalf("connection %d: %v", len(open), err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		open = append(open, conn)
	}
	return open
}

// alive counts the connections that the server has not closed.
func alive(open []net.Conn) (n int) {
	for _, conn := range open {
		_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
		_, err := conn.Read(make([]byte, 1))
		if errors.Is(err, os.ErrDeadlineExceeded) {
			n++
		}
	}
	return n
}

// flood sends about 1,000 unknown tokens a second until ctx ends, and counts the answers that
// refuse them.
func flood(ctx context.Context, all *sync.WaitGroup, address string) *atomic.Int64 {
	var refused atomic.Int64
	for range 10 {
		all.Go(func() {
			client, every := clientAt("127.0.0.5", true), time.NewTicker(10*time.Millisecond)
			defer every.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-every.C:
				}
				token := make([]byte, 16)
				_, _ = rand.Read(token)
				if status, err := scrapeServer(client, address, hex.EncodeToString(token)); err == nil && (status == http.StatusTooManyRequests || status == http.StatusUnauthorized) {
					refused.Add(1)
				}
			}
		})
	}
	return &refused
}
