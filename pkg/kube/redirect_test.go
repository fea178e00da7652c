package kube

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// TestRefuseRedirects checks that no token goes where a redirect leads: to another server, or out of TLS.
func TestRefuseRedirects(t *testing.T) {
	sent := 0
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			sent++
		}
	}))
	defer elsewhere.Close()
	for name, test := range map[string]struct {
		code  int
		where func(own string) string
	}{
		"to plain HTTP":            {http.StatusTemporaryRedirect, func(string) string { return elsewhere.URL + "/api/v1/nodes/n" }},
		"of a moved page":          {http.StatusMovedPermanently, func(string) string { return elsewhere.URL }},
		"without a scheme":         {http.StatusFound, func(string) string { return strings.TrimPrefix(elsewhere.URL, "http:") }},
		"to its own, without TLS":  {http.StatusPermanentRedirect, func(own string) string { return strings.Replace(own, "https:", "http:", 1) }},
		"that cannot be parsed":    {http.StatusSeeOther, func(string) string { return "https://[" }},
		"to another port with TLS": {http.StatusFound, func(string) string { return "https://127.0.0.1:1" }},
	} {
		var own string
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", test.where(own))
			w.WriteHeader(test.code)
		}))
		own = server.URL
		config := &rest.Config{Host: server.URL, BearerToken: "secret", TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
		RefuseRedirects(config)
		client, err := NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Nodes().Get(t.Context(), "n", metav1.GetOptions{})
		if sent > 0 || err == nil || !strings.Contains(err.Error(), "is not followed") {
			t.Errorf("a redirect %s: %d tokens sent, %v", name, sent, err)
		}
		sent = 0
		server.Close()
	}
}

// TestOwnRedirects checks that a redirect within the API server is followed.
func TestOwnRedirects(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/there" {
			http.Redirect(w, r, "/there", http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"Node","apiVersion":"v1","metadata":{"name":"n"}}`))
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	RefuseRedirects(config)
	client, err := NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if node, err := client.Nodes().Get(t.Context(), "n", metav1.GetOptions{}); err != nil || node.Name != "n" {
		t.Errorf("%+v, %v", node, err)
	}
}
