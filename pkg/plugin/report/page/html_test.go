package page_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report/page"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/upgradesample"
)

func made(t testing.TB, of func() (clusterstate.Snapshot, time.Time)) *report.Report {
	t.Helper()
	s, at := of()
	r, err := report.New(s, upgradesample.Name, at)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func write(t testing.TB, r *report.Report) []byte {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	text, err := page.HTML(r, page.Options{Zone: zone, Version: "v0.0.0-test"})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestRollbackIsCalledOne checks that the page of a Rollback says what it was, and why.
func TestRollbackIsCalledOne(t *testing.T) {
	r := made(t, upgradesample.Example)
	r.Upgrade.Type, r.Upgrade.From, r.Upgrade.To, r.Upgrade.Comment = "Rollback", "v1.34.4", "v1.34.3", "volumes do not mount"
	_, texts := shape(t, write(t, r))
	for _, want := range []string{"Kubelets taken back to v1.34.3 from v1.34.4", "volumes do not mount"} {
		if !strings.Contains(texts, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// shape returns the elements and attributes of a page, and its texts.
func shape(t *testing.T, text []byte) (elements []string, texts string) {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for n := range root.Descendants() {
		switch n.Type {
		case html.ElementNode:
			element := n.Data
			for _, a := range n.Attr {
				element += " " + a.Key
			}
			elements = append(elements, element)
		case html.TextNode:
			all.WriteString(n.Data + "\n")
		}
	}
	return elements, all.String()
}

const hostile = `</title></style><script>alert(1)</script><img src=x onerror="alert(2)">'"><svg onload=alert(3)>{{.}}` + "\u202e\x1b[31m"

// TestUntrustedText puts HTML into every text of a report, and checks that the page has the
// same elements and attributes as before.
func TestUntrustedText(t *testing.T) {
	for name, of := range map[string]func() (clusterstate.Snapshot, time.Time){
		"ended": upgradesample.Example, "running": upgradesample.Running, "large": func() (clusterstate.Snapshot, time.Time) { return upgradesample.Fleet(100) },
	} {
		t.Run(name, func(t *testing.T) {
			harmless, hurtful := made(t, of), made(t, of)
			replaceTexts(reflect.ValueOf(harmless).Elem(), "x")
			want, _ := shape(t, write(t, harmless))
			replaceTexts(reflect.ValueOf(hurtful).Elem(), hostile)
			text := write(t, hurtful)
			got, texts := shape(t, text)
			if !slices.Equal(got, want) {
				t.Error("the page has other elements or attributes")
			}
			if !strings.Contains(texts, `<script>alert(1)</script><img src=x onerror="alert(2)">`) {
				t.Error("the text is not shown as it is")
			}
			if bytes.ContainsAny(text, "\u202e\x1b") {
				t.Error("the page has letters that control a terminal or the direction of text")
			}
			for _, element := range got {
				if name, attributes, _ := strings.Cut(element, " "); name == "script" || strings.Contains(" "+attributes, " on") || strings.Contains(" "+attributes, " style") {
					t.Errorf("the page has %s", element)
				}
			}
		})
	}
}

// replaceTexts replaces every string that the cluster gives. What the page decides by stays.
func replaceTexts(v reflect.Value, by string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			replaceTexts(v.Elem(), by)
		}
	case reflect.Slice:
		for i := range v.Len() {
			replaceTexts(v.Index(i), by)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() || strings.HasPrefix(v.Type().PkgPath(), "k8s.io/apimachinery") {
			return
		}
		for i := range v.NumField() {
			replaceTexts(v.Field(i), by)
		}
	case reflect.String:
		decides := []string{"State", "PartName", "Step", "Outcome", "FindingLevel"}
		if v.CanSet() && v.String() != "" && !slices.Contains(decides, v.Type().Name()) {
			v.SetString(by)
		}
	}
}

// TestPolicy checks that the policy allows the page's style sheet by its hash, and neither a
// script nor the network.
func TestPolicy(t *testing.T) {
	text := string(write(t, made(t, upgradesample.Example)))
	_, css, _ := strings.Cut(text, "<style>")
	css, _, _ = strings.Cut(css, "</style>")
	sum := sha256.Sum256([]byte(css))
	want := fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; img-src data:; base-uri 'none'; form-action 'none'", base64.StdEncoding.EncodeToString(sum[:]))
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Data == "meta" && slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "http-equiv" }) {
			for _, a := range n.Attr {
				if a.Key == "content" && a.Val != want {
					t.Errorf("the policy is %q, want %q", a.Val, want)
				}
			}
			return
		}
	}
	t.Error("the page has no policy")
}

// TestSize checks that the page of a large cluster is not too large to be sent.
func TestSize(t *testing.T) {
	text := write(t, made(t, func() (clusterstate.Snapshot, time.Time) { return upgradesample.Fleet(5000) }))
	if len(text) > 5_000_000 {
		t.Errorf("5,000 nodes take %d bytes, want less than 5 MB", len(text))
	}
	t.Logf("5,000 nodes take %.1f MB", float64(len(text))/1e6)
}
