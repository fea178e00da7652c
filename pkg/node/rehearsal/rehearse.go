package rehearsal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/access"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/facts"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// recordFile has the last rehearsals of this boot.
const recordFile = "/run/kubectl-upgrade/rehearsal.json"

// record is what was rehearsed last, from what, and when.
type record struct {
	Inputs     string               `json:"inputs"`
	At         time.Time            `json:"at"`
	Rehearsals []v1alpha1.Rehearsal `json:"rehearsals"`
	// Missing are files that were looked for and were not there.
	Missing []string `json:"missing,omitempty"`
}

// againAfter is when what could not be tried is tried again, although nothing has changed.
const againAfter = 30 * time.Minute

// current reports whether the record has what would come of another rehearsal.
func (r record) current(inputs string, now time.Time) bool {
	untried := slices.ContainsFunc(r.Rehearsals, func(r v1alpha1.Rehearsal) bool { return len(r.Untried) > 0 })
	return r.Inputs == inputs && (!untried || now.Sub(r.At).Abs() < againAfter)
}

// Rehearse adds to the facts what came of the trials of the node's next boot: with each image on the disk, and as a plain
// reboot. A node that is not managed has no images of ours, and nothing is tried on one whose guard watches: what would be
// learned comes too late.
func Rehearse(ctx context.Context, l host.Layout, found *verb.HostFacts, log *host.Log) {
	if _, err := os.Stat(l.At(host.KeptDir)); err != nil || found.Unsupported != nil || found.Guarded || found.Merged == "" {
		return
	}
	found.Node.Rehearsals = tried(ctx, l, *found, log)
	read, err := access.Read(l, host.KubeletAccess, "")
	if err != nil {
		access.AddProblem(found.Node.Rehearsals, err)
		return
	}
	found.CertificateDir = read.CertificateDir()
}

// tried returns what came of the trials. If nothing of what they read has changed, these are the last results.
func tried(ctx context.Context, l host.Layout, found verb.HostFacts, log *host.Log) []v1alpha1.Rehearsal {
	versions := boots(found)
	inputs := fingerprint(l, versions, facts.FindKubelet(ctx, l))
	came := func(path string) bool { return isFile(l, path) }
	if last, err := readRecord(l); err == nil && last.current(inputs, time.Now()) && !slices.ContainsFunc(last.Missing, came) {
		return last.Rehearsals
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	r := rehearsing{layout: l, running: found.Merged, log: log}
	rehearsals := r.all(ctx, versions)
	if err := writeRecord(l, record{Inputs: inputs, At: time.Now(), Rehearsals: rehearsals, Missing: r.missing}); err != nil {
		log.Printf("keeping what was rehearsed: %v", err)
	}
	return rehearsals
}

// within limits all trials of one reading of the facts, which has to end also where a program hangs. They take a few seconds.
const within = 3 * time.Minute

// boots returns the versions that a boot of the node may merge: the active one, and those of the images on the disk. A link
// that leads nowhere names none.
func boots(found verb.HostFacts) []string {
	versions := slices.Clone(found.Installed)
	if found.Active != "" && found.Active != verb.NoKubernetes && !slices.Contains(versions, found.Active) {
		versions = append(versions, found.Active)
	}
	return versions
}

func readRecord(l host.Layout) (last record, err error) {
	data, err := os.ReadFile(l.At(recordFile))
	if err == nil {
		err = json.Unmarshal(data, &last)
	}
	return last, err
}

func writeRecord(l host.Layout, r record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return host.WriteFile(l.At(recordFile), data, 0o600)
}

// rehearsing rehearses the boots of one node.
type rehearsing struct {
	layout  host.Layout
	running string
	log     *host.Log
	missing []string // files that were looked for and are not there
}

// all rehearses the boot with each version. What runs now is tried first, as all others are compared with it.
func (r *rehearsing) all(ctx context.Context, versions []string) (all []v1alpha1.Rehearsal) {
	today, untried := r.merge(ctx, r.running)
	kubelet := facts.FindKubelet(ctx, r.layout)
	for _, to := range versions {
		out := v1alpha1.Rehearsal{Version: to}
		start, startProblem := kubelet.Start(ctx, !sameLine(to, r.running))
		next, err := today, untried
		if err == nil && to != r.running {
			next, err = r.merge(ctx, to)
		}
		if err == nil {
			out = Judge(Boots{
				Version: to, Running: r.running, Today: today, Next: next,
				Extensions: mergedNow(r.layout), KubeletProgram: kubelet.Program(),
			})
		} else {
			out.Untried = append(out.Untried, fmt.Sprintf("the merge: %v", err))
		}
		switch {
		case len(out.Problems) > 0: // the kubelet would perhaps not be started as it is now
		case startProblem != nil:
			out.Untried = append(out.Untried, fmt.Sprintf("the kubelet: %v", startProblem))
		default:
			r.kubelet(ctx, start, &out)
		}
		r.controlPlane(ctx, kubelet, &out)
		confexts(r.layout, &out)
		for _, problem := range out.Problems {
			r.log.Printf("rehearsal of a boot with %s: %s (%s)", to, problem.Message, problem.Cause)
		}
		all = append(all, out)
	}
	return all
}

func sameLine(a, b string) bool {
	one, err := version.Parse(a)
	other, err2 := version.Parse(b)
	return err == nil && err2 == nil && one.SameLine(other)
}

// MergeCommand is the hidden command of this program that runs Merge.
const MergeCommand = "try-merge"

// merge tries the merge of a boot with the image of a version.
func (r *rehearsing) merge(ctx context.Context, version string) (seen Seen, err error) {
	image := r.layout.At(host.ImagePath(version, host.Architecture()))
	if _, err := os.Stat(image); err != nil {
		return seen, fmt.Errorf("the image of %s is not on the disk", version)
	}
	kept, err := mountUnits(ctx, r.log)
	if err != nil {
		return seen, err
	}
	text, err := host.RunTrial(ctx, r.log, append([]string{"host", MergeCommand, image}, kept...)...)
	if err != nil {
		return seen, err
	}
	if err := json.Unmarshal([]byte(text), &seen); err != nil {
		return seen, fmt.Errorf("decoding what the trial saw: %w", err)
	}
	return seen, nil
}

// mountUnits returns the mounts that units make: those that a generator or a person has written a file for. They are there
// again after a boot.
func mountUnits(ctx context.Context, log *host.Log) (paths []string, err error) {
	text, err := host.RunProgram(ctx, log, "systemctl", "show", "--property=Where", "--property=FragmentPath", "*.mount")
	if err != nil {
		return nil, err
	}
	for unit := range strings.SplitSeq(text, "\n\n") {
		var where, file string
		for line := range strings.Lines(unit) {
			switch name, value, _ := strings.Cut(strings.TrimSpace(line), "="); name {
			case "Where":
				where = value
			case "FragmentPath":
				file = value
			}
		}
		if file != "" && filepath.IsAbs(where) {
			paths = append(paths, where)
		}
	}
	return paths, nil
}

// mergedNow returns the names of the extensions that are merged now, without those that a person has removed or masked
// since: the next boot leaves these out on purpose.
func mergedNow(l host.Layout) (names []string) {
	for _, name := range look(l).Extensions {
		file := extensionFile(l, name)
		if target, _ := os.Readlink(l.At(file)); file != "" && target != os.DevNull {
			names = append(names, name)
		}
	}
	return names
}

// extensionFile returns the file or folder of an extension; empty: there is none.
func extensionFile(l host.Layout, name string) string {
	for _, dir := range host.ExtensionDirs {
		for _, path := range []string{filepath.Join(dir, name), filepath.Join(dir, name+".raw")} {
			if _, err := os.Lstat(l.At(path)); err == nil {
				return path
			}
		}
	}
	return ""
}

// confextDirs are the folders in which systemd-confext looks (systemd-confext(8)).
var confextDirs = []string{"/etc/confexts", "/run/confexts", "/var/lib/confexts", "/usr/local/lib/confexts", "/usr/lib/confexts"}

// confexts says that the merge of /etc is left out, if there are images for it, and opens these: one that cannot be read
// could not be merged.
func confexts(l host.Layout, out *v1alpha1.Rehearsal) {
	for _, dir := range confextDirs {
		entries, err := os.ReadDir(l.At(dir))
		if err != nil || len(entries) == 0 {
			continue
		}
		out.LeftOut = append(out.LeftOut, "the merge of /etc from what is in "+dir)
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if target, _ := os.Readlink(l.At(path)); target == os.DevNull {
				continue
			}
			if err := opens(l.At(path)); err != nil {
				out.Untried = append(out.Untried, fmt.Sprintf("the confext %s: %v", path, cause(err)))
			}
		}
	}
}

// opens returns an error unless the start of an image can be read, or the names in a folder.
func opens(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err == nil && info.IsDir() {
		_, err := file.Readdirnames(0)
		return err
	}
	if _, err := file.Read(make([]byte, 512)); err != nil {
		return fmt.Errorf("reading its start: %w", err)
	}
	return nil
}

// cause returns the error without the path.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
