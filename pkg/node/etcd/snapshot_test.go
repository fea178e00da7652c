package etcd

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

func (n *node) take(args verb.SnapshotArgs) (*verb.SnapshotOutput, error) {
	return Take(n.t.Context(), n.l, args, host.NewLog(&strings.Builder{}))
}

func (n *node) mustTake(upgrade string) *verb.SnapshotOutput {
	n.t.Helper()
	out, err := n.take(verb.SnapshotArgs{Upgrade: upgrade})
	if err != nil {
		n.t.Fatal(err)
	}
	return out
}

// files are the names in the folder for snapshots, of whatever kind.
func (n *node) files() []string {
	n.t.Helper()
	entries, err := os.ReadDir(n.l.At(host.SnapshotsDir))
	if err != nil {
		n.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestTake(t *testing.T) {
	t.Parallel()
	n := newCluster(t, 1)[0]
	n.write(host.SnapshotsDir+"/"+partPrefix+"etcd-x.db.part", "of a run that was killed")
	out := n.mustTake("v1.35.4")
	data, err := os.ReadFile(n.l.At(out.Path))
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(data); out.SHA256 != hex.EncodeToString(sum[:]) || out.Bytes != int64(len(data)) {
		t.Errorf("says %s of %d bytes, the file has %x of %d", out.SHA256, out.Bytes, sum, len(data))
	}
	info, err := os.Stat(n.l.At(out.Path))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if !strings.HasPrefix(out.EtcdVersion, "3.") || time.Since(out.TakenAt) > time.Minute || filepath.Dir(out.Path) != host.SnapshotsDir {
		t.Errorf("%+v", out)
	}
	if diff := cmp.Diff([]string{filepath.Base(out.Path)}, n.files()); diff != "" {
		t.Errorf("files in the folder (-want +got):\n%s", diff)
	}
	if !ofUpgrade(filepath.Base(out.Path), "v1.35.4") || ofUpgrade(filepath.Base(out.Path), "4") {
		t.Errorf("whose is %s?", out.Path)
	}
}

// TestTakeFails checks that no failure leaves a file that is named like a snapshot.
func TestTakeFails(t *testing.T) {
	tests := map[string]struct {
		spoil func(*node)
		want  string
	}{
		"etcd is away":        {func(n *node) { n.kill() }, "size of the database"},
		"no certificates":     {func(n *node) { _ = os.Remove(n.l.At(defaultPKI, "healthcheck-client.crt")) }, "certificates for etcd's health checks"},
		"an external etcd":    {func(n *node) { _ = os.Remove(n.l.At(host.ManifestsDir, "etcd.yaml")) }, "strategy.etcdSnapshotPolicy to Skip"},
		"a manifest of sorts": {func(n *node) { n.write(host.ManifestsDir+"/etcd.yaml", "\t") }, "reading etcd's manifest: decoding " + host.ManifestsDir + "/etcd.yaml"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := newCluster(t, 1)[0]
			test.spoil(n)
			_, err := n.take(verb.SnapshotArgs{Upgrade: "v1.35.4"})
			if host.ReasonOf(err, "") != v1alpha1.ReasonSnapshotFailed || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v", err)
			}
			if all, _ := snapshots(n.l); len(all) > 0 {
				t.Errorf("files are left: %q", all)
			}
			if external := errors.Is(err, ErrNoMember); external != (name == "an external etcd") {
				t.Errorf("no member: %t", external)
			}
		})
	}
}

func TestRoom(t *testing.T) {
	if got := roomFor(1000); got != 1200 {
		t.Errorf("a database of 1000 bytes wants %d", got)
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	n := newCluster(t, 1)[0]
	whole, err := os.ReadFile(n.l.At(n.mustTake("u").Path))
	if err != nil {
		t.Fatal(err)
	}
	flipped := append([]byte(nil), whole...)
	flipped[len(flipped)/2] ^= 1
	for name, test := range map[string]struct {
		data []byte
		good bool
	}{
		"whole":        {whole, true},
		"one bit":      {flipped, false},
		"cut":          {whole[:len(whole)-1], false},
		"no trailer":   {whole[:len(whole)-sha256.Size], false},
		"trailer only": {whole[len(whole)-sha256.Size:], false},
		"empty":        {nil, false},
	} {
		path := filepath.Join(t.TempDir(), "x.db")
		if err := os.WriteFile(path, test.data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Verify(path); (err == nil) != test.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOldSnapshotsAreRemoved(t *testing.T) {
	l := host.Layout{Dir: t.TempDir()}
	n := &node{t: t, l: l}
	at := func(day int, upgrade string) string {
		name := fileName(time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC), upgrade)
		n.write(host.SnapshotsDir+"/"+name, "")
		return name
	}
	at(1, "v1.33.9")
	own := at(2, "v1.35.4")
	at(3, "v1.34.1")
	at(4, "v1.34.2")
	newest := []string{at(5, "v1.34.3"), at(6, "v1.34.4"), at(7, "v1.35.4")}
	n.write(host.SnapshotsDir+"/mine.db", "somebody else's")
	removed, err := prune(l, "v1.35.4")
	if err != nil || len(removed) != 3 {
		t.Errorf("removed %q, %v", removed, err)
	}
	want := append(append([]string{own}, newest...), "mine.db")
	if diff := cmp.Diff(want, n.files()); diff != "" {
		t.Errorf("files that are left (-want +got):\n%s", diff)
	}
}
