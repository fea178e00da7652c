package coordinator

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

func TestNewestOffered(t *testing.T) {
	now := time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC)
	before := metav1.NewTime(now.AddDate(0, 0, -3))
	known := []v1alpha1.OfferedVersion{{Version: "v1.34.4", FirstSeenTime: before}, {Version: "v1.33.9", FirstSeenTime: before}}
	unavailable := clusterstate.Hold{Reason: v1alpha1.ReasonSourceUnavailable}
	for _, row := range []struct {
		name    string
		offers  []string
		problem clusterstate.Hold
		want    []string // versions that were known have a *
	}{
		{"two architectures are one version", []string{"v1.34.4", "v1.34.4"}, clusterstate.Hold{}, []string{"v1.34.4*"}},
		{"each that is newer than what runs", []string{"v1.34.2", "v1.34.3", "v1.34.4", "v1.34.5"}, clusterstate.Hold{}, []string{"v1.34.5", "v1.34.4*", "v1.34.3"}},
		{"the newest of minors that no node runs", []string{"v1.33.8", "v1.33.9", "v1.35.0", "v1.35.1"}, clusterstate.Hold{}, []string{"v1.35.1", "v1.33.9*"}},
		{"no pre-release", []string{"v1.34.5-rc.1", "v1.35.0-rc.1"}, clusterstate.Hold{}, nil},
		{"an index that is incomplete", []string{"v1.34.5"}, clusterstate.Hold{Reason: v1alpha1.ReasonSourceInvalid}, []string{"v1.34.5"}},
		{"an index that cannot be read", nil, unavailable, []string{"v1.34.4*", "v1.33.9*"}},
	} {
		s := clusterstate.Snapshot{Nodes: []clusterstate.Node{{Kubelet: "v1.34.3"}, {Kubelet: "v1.34.2"}, {Kubelet: "unknown"}}, Source: clusterstate.Source{Problem: row.problem}}
		for _, v := range row.offers {
			s.Source.Offers = append(s.Source.Offers, clusterstate.Offer{Version: v})
		}
		var got []string
		for _, one := range newestOffered(known, nil, s, now) {
			switch {
			case one.FirstSeenTime.Equal(&before):
				one.Version += "*"
			case !one.FirstSeenTime.Time.Equal(now):
				t.Errorf("%s: %s was first seen %s", row.name, one.Version, one.FirstSeenTime)
			}
			got = append(got, one.Version)
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
	var many clusterstate.Snapshot
	for minor := range 40 {
		many.Source.Offers = append(many.Source.Offers, clusterstate.Offer{Version: fmt.Sprintf("v1.%d.0", minor)})
	}
	if got := newestOffered(nil, nil, many, now); len(got) != maxOffered || got[0].Version != "v1.39.0" {
		t.Errorf("of 40 minors %d are listed, from %s", len(got), got[0].Version)
	}
}

// TestImageReplaced checks that the age of an image belongs to its digest, and that another one
// under the same version is told once.
func TestImageReplaced(t *testing.T) {
	start := time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC)
	var status []v1alpha1.OfferedVersion
	for hour, row := range []struct {
		name    string
		digests string // amd64 and arm64
		problem v1alpha1.Reason
		want    string // of each image the hour at which it was first seen, and whether it replaced another one
		told    int
	}{
		{"new", "a a", "", "amd64 a 0 false, arm64 a 0 false", 0},
		{"unchanged", "a a", "", "amd64 a 0 false, arm64 a 0 false", 0},
		{"one is replaced", "b a", "", "amd64 b 2 true, arm64 a 0 false", 1},
		{"unreadable", "", v1alpha1.ReasonSourceUnavailable, "amd64 b 2 true, arm64 a 0 false", 0},
		{"one is away", "b", "", "amd64 b 2 true, arm64 a 0 false", 0},
		{"and comes back as another one", "b c", "", "amd64 b 2 true, arm64 c 5 true", 1},
		{"the former one is back", "a c", "", "amd64 a 6 true, arm64 c 5 true", 1},
	} {
		s := clusterstate.Snapshot{Source: clusterstate.Source{Problem: clusterstate.Hold{Reason: row.problem}}}
		for i, digest := range strings.Fields(row.digests) {
			s.Source.Offers = append(s.Source.Offers, clusterstate.Offer{Version: "v1.34.4", Image: v1alpha1.Image{Architecture: []v1alpha1.Architecture{"amd64", "arm64"}[i], Digest: v1alpha1.Digest(digest)}})
		}
		before := status
		status = newestOffered(before, nil, s, start.Add(time.Duration(hour)*time.Hour))
		var got []string
		for _, image := range status[0].Images {
			got = append(got, fmt.Sprintf("%s %s %.0f %t", image.Architecture, image.Digest, image.FirstSeenTime.Sub(start).Hours(), image.Replaced))
		}
		if text := strings.Join(got, ", "); text != row.want || !status[0].FirstSeenTime.Time.Equal(start) {
			t.Errorf("%s: got %s, since %s, want %s", row.name, text, status[0].FirstSeenTime, row.want)
		}
		if told := replaced(before, status); len(told) != row.told {
			t.Errorf("%s: told %q", row.name, told)
		}
	}
	known := []v1alpha1.OfferedVersion{{Version: "v1.34.4", FirstSeenTime: metav1.NewTime(start)}}
	s := clusterstate.Snapshot{Source: clusterstate.Source{Offers: []clusterstate.Offer{{Version: "v1.34.4", Image: v1alpha1.Image{Architecture: "amd64", Digest: "a"}}}}}
	if got := newestOffered(known, nil, s, start.Add(time.Hour))[0].Images; len(got) != 1 || !got[0].FirstSeenTime.Time.Equal(start) || got[0].Replaced {
		t.Errorf("a version that a former coordinator saw has %+v", got)
	}
}

// TestImageReplacedWhileAway checks that another image under a version is told that was not on offer for a
// while, and that what was on offer is bounded.
func TestImageReplacedWhileAway(t *testing.T) {
	now := time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC)
	stored := &v1alpha1.UpgradePolicy{}
	read := func(offers ...clusterstate.Offer) (told []string) {
		t.Helper()
		now = now.Add(time.Hour)
		s := clusterstate.Snapshot{Source: clusterstate.Source{Offers: offers}}
		observed := observePolicy(stored, s, "", now)
		told = replaced(slices.Concat(stored.Status.FormerlyOffered, stored.Status.Offered), observed.Status.Offered)
		stored = observed
		return told
	}
	of := func(version string, digest v1alpha1.Digest) clusterstate.Offer {
		return clusterstate.Offer{Version: version, Image: v1alpha1.Image{Architecture: "amd64", Digest: digest}}
	}
	read(of("v1.34.4", "a"))
	read(of("v1.35.0", "x"))
	if len(stored.Status.Offered) != 1 || len(stored.Status.FormerlyOffered) != 1 {
		t.Fatalf("got %+v", stored.Status)
	}
	if told := read(of("v1.34.4", "b"), of("v1.35.0", "x")); len(told) != 1 || !strings.Contains(told[0], "b in place of a") {
		t.Errorf("told %q", told)
	}
	if got := stored.Status.Offered[1].Images[0]; !got.Replaced || !got.FirstSeenTime.Time.Equal(now) || len(stored.Status.FormerlyOffered) != 0 {
		t.Errorf("got %+v, formerly %+v", got, stored.Status.FormerlyOffered)
	}
	read(of("v1.35.0", "x"))
	if told := read(of("v1.34.4", "b"), of("v1.35.0", "x")); len(told) != 0 || !stored.Status.Offered[1].Images[0].Replaced {
		t.Errorf("the same image again: told %q, %+v", told, stored.Status.Offered[1])
	}
	for minor := range 40 {
		read(of(fmt.Sprintf("v1.%d.0", minor), "y"))
	}
	if former := stored.Status.FormerlyOffered; len(former) != maxOffered || former[0].Version != "v1.38.0" {
		t.Errorf("of 40 versions %d are kept, from %s", len(former), former[0].Version)
	}
}

func TestNewestSignature(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 11, 21, 1, minute, 0, 0, time.UTC) }
	from := v1alpha1.ImageSource{URL: "https://x/", Keyring: "k"}
	first := newestSignature(nil, from, at(1))
	for name, row := range map[string]struct {
		from   v1alpha1.ImageSource
		signed time.Time
		want   time.Time
	}{
		"a newer one":     {from, at(2), at(2)},
		"unreadable":      {from, time.Time{}, at(1)},
		"an older one":    {from, at(0), at(1)},
		"another keyring": {v1alpha1.ImageSource{URL: "https://x/", Keyring: "l"}, at(0), at(0)},
		"no keyring":      {v1alpha1.ImageSource{URL: "https://x/"}, time.Time{}, time.Time{}},
	} {
		got := newestSignature(first, row.from, row.signed)
		if (got == nil) != row.want.IsZero() || got != nil && !got.Time.Time.Equal(row.want) {
			t.Errorf("%s: got %+v, want %s", name, got, row.want)
		}
	}
}
