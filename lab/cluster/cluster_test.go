package cluster

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/artifacts"
)

func TestValidate(t *testing.T) {
	good := Spec{ControlPlanes: 1, Workers: 2, Version: "v1.34.3"}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*Spec){
		"two control planes": func(s *Spec) { s.ControlPlanes = 2 },
		"no control plane":   func(s *Spec) { s.ControlPlanes = 0 },
		"negative workers":   func(s *Spec) { s.Workers = -1 },
		"too many workers":   func(s *Spec) { s.Workers = 100 },
		"a minor":            func(s *Spec) { s.Version = "v1.34" },
		"a path":             func(s *Spec) { s.Version = "v1.34.3/.." },
		"an unknown origin":  func(s *Spec) { s.From = "somewhere" },
		"another base":       func(s *Spec) { s.Base = "jessie" },
		"containerd 3":       func(s *Spec) { s.Containerd = 3 },
		"no containerd 1":    func(s *Spec) { s.Base, s.Containerd = "sid", 1 },
	} {
		spec := good
		spoil(&spec)
		if err := spec.Validate(); err == nil {
			t.Errorf("%s: %+v was taken", name, spec)
		}
	}
}

func TestOpenFindsWhatBeginWrote(t *testing.T) {
	dir, cache := t.TempDir(), t.TempDir()
	if _, err := Open(dir); !errors.Is(err, ErrNone) {
		t.Fatalf("Open of an empty folder: %v", err)
	}
	spec := Spec{ControlPlanes: 1, Workers: 1, Version: "v1.34.3"}
	begun := &Cluster{Dir: dir, state: state{Spec: spec, CacheDir: cache, Token: newToken()}}
	if err := begun.save(); err != nil {
		t.Fatal(err)
	}
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if c.state != begun.state {
		t.Errorf("opened %+v, want %+v", c.state, begun.state)
	}
	if diff := cmp.Diff([]string{"cp1", "w1"}, c.Nodes()); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(c.stateFile()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file with the token: %v, %v", info.Mode(), err)
	}
	if _, err := c.Node("w2"); err == nil || !strings.Contains(err.Error(), "[cp1 w1]") {
		t.Errorf("a node that is not there: %v", err)
	}
	other := Options{CacheDir: cache, Spec: Spec{ControlPlanes: 3, Workers: 1, Version: "v1.34.3"}}
	if _, err := openOrBegin(dir, other); err == nil || !strings.Contains(err.Error(), "lab down") {
		t.Errorf("another lab: %v", err)
	}
	if c.running() {
		t.Error("a lab that was only planned counts as running")
	}
}

func TestOneAtATime(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock(dir); err == nil {
		t.Error("two have the lock")
	}
	unlock()
	unlock, err = lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestDownOfNothing(t *testing.T) {
	if err := Down(t.Context(), t.TempDir()+"/none", nil); !errors.Is(err, ErrNone) {
		t.Errorf("got %v", err)
	}
}

func TestParseMembers(t *testing.T) {
	members, err := parseMembers([]byte(`{"items":[
	 {"metadata":{"name":"cp1"},"status":{"conditions":[{"type":"MemoryPressure","status":"False"},{"type":"Ready","status":"True"}],
	  "nodeInfo":{"kubeletVersion":"v1.34.3","bootID":"b1","containerRuntimeVersion":"containerd://2.2.9"}}},
	 {"metadata":{"name":"w1"},"spec":{"unschedulable":true},"status":{"conditions":[{"type":"Ready","status":"Unknown"}],
	  "nodeInfo":{"kubeletVersion":"v1.34.4","bootID":"b2"}}},
	 {"metadata":{"name":"w2"}}]}`))
	want := map[string]Member{
		"cp1": {Ready: true, Kubelet: "v1.34.3", BootID: "b1", Containerd: "2.2.9"},
		"w1":  {Unschedulable: true, Kubelet: "v1.34.4", BootID: "b2"},
		"w2":  {},
	}
	if diff := cmp.Diff(want, members); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := parseMembers([]byte("Unable to connect")); err == nil {
		t.Error("no list gave no error")
	}
}

func TestCacheHasTheOriginOfTheSpec(t *testing.T) {
	from, err := artifacts.ParseOrigin("https://mirror.example")
	if err != nil {
		t.Fatal(err)
	}
	for origin, want := range map[string]artifacts.Origin{"": {}, "https://mirror.example": from} {
		c := &Cluster{Dir: t.TempDir(), state: state{CacheDir: t.TempDir(), Spec: Spec{From: origin}}}
		cache, err := c.Cache()
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(cache.Origin, want) {
			t.Errorf("%q: the cache's origin is %+v, want %+v", origin, cache.Origin, want)
		}
	}
}

func TestPublishRefusesAnUnknownKind(t *testing.T) {
	c := &Cluster{Dir: t.TempDir(), state: state{CacheDir: t.TempDir()}}
	err := c.Publish(t.Context(), "v1.34.4", PublishOptions{Broken: "sad"})
	if err == nil || !strings.Contains(err.Error(), "they are crash, hang,") {
		t.Errorf("an unknown kind of broken image: %v", err)
	}
}
