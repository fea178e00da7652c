package cli_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/cli"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// The limits of one invocation. A hang is one that takes longest; the memory is that of a plan
// for a few thousand nodes.
const (
	longest    = time.Minute
	mostMemory = 512 << 20
	mostOutput = 8 << 20
	mostError  = 4 << 10
)

// TestInvocations makes up whole invocations of the plugin, arguments and files, and checks that
// each ends with a known exit code, with one line if it is an error; that it neither panics, hangs,
// nor uses much memory; that it changes no file but those that it was told to write, and no object
// by a verb that only shows, or by a dry run; and that a file of schedules that it accepts is
// accepted by an API server. INVOCATIONS is how many there
// are, and SEED the first of them: `make fuzz-cli`.
func TestInvocations(t *testing.T) {
	count, first := number(t, "INVOCATIONS", 500), number(t, "SEED", 1)
	if testing.Short() {
		count = min(count, 100)
	}
	m := newMachine(t)
	codes := map[int]int{}
	for seed := first; seed < first+count && !t.Failed(); seed++ {
		codes[m.try(t, seed)]++
	}
	t.Logf("exit codes: %v; %d files of schedules were accepted", codes, m.accepted)
	if count >= 500 && (codes[0] < 25 || codes[1] < 100 || m.accepted < 3) {
		t.Errorf("%v and %d accepted files: such invocations prove nothing", codes, m.accepted)
	}
}

func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// machine is where invocations run: a folder with files, and clusters.
type machine struct {
	dir         string
	cluster     *madeUpCluster
	kubeconfigs []string // the first is that of the cluster
	root        *cobra.Command
	verbs       []*cobra.Command
	pairs       []pair
	schedules   []string // texts of schedules, one object each
	snapshot    string   // the text of a snapshot of a cluster that is being upgraded
	accepted    int
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	snapshot, err := os.ReadFile("../report/testdata/running-snapshot.json")
	must(t, err)
	m := &machine{dir: t.TempDir(), snapshot: string(snapshot)}
	config := apitest.Start(t)
	m.cluster = newMadeUpCluster(t, config)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html><title>Sign in</title></html>")
	}))
	t.Cleanup(page.Close)
	null := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, "null")
	}))
	t.Cleanup(null.Close)
	homes := t.TempDir()
	for name, address := range map[string]string{"page": page.URL, "null": null.URL, "refused": "http://127.0.0.1:1", "silent": silentServer(t)} {
		m.addKubeconfig(t, homes, name, kubeconfigFor(t, address))
	}
	slices.Sort(m.kubeconfigs)
	m.kubeconfigs = append(m.kubeconfigs, filepath.Join(homes, "broken"), filepath.Join(homes, "missing"))
	must(t, os.WriteFile(filepath.Join(homes, "broken"), []byte("clusters: ["), 0o600))
	m.addKubeconfig(t, homes, "real", apitest.Kubeconfig(t, config))
	slices.Reverse(m.kubeconfigs) // the real one first
	m.root = cli.New(genericiooptions.NewTestIOStreamsDiscard(), "test")
	m.verbs = m.root.Commands()
	m.pairs = pairs(m.verbs)
	m.schedules = scheduleTexts()
	t.Setenv("HOME", homes)
	t.Chdir(m.dir)
	return m
}

// addKubeconfig copies a kubeconfig into the folder under that name, which failures are reported with.
func (m *machine) addKubeconfig(t *testing.T, folder, name, from string) {
	t.Helper()
	text, err := os.ReadFile(from)
	must(t, err)
	file := filepath.Join(folder, name)
	must(t, os.WriteFile(file, text, 0o600))
	m.kubeconfigs = append(m.kubeconfigs, file)
}

// fill puts the folder into the state in which every invocation begins.
func (m *machine) fill(t *testing.T, i *invocation) {
	t.Helper()
	entries, err := os.ReadDir(m.dir)
	must(t, err)
	for _, entry := range entries {
		must(t, os.RemoveAll(filepath.Join(m.dir, entry.Name())))
	}
	snapshot := m.snapshot
	if i.turns == nil && i.random.IntN(4) == 0 { // not of a combination
		snapshot = snapshot[:i.random.IntN(len(snapshot))]
	}
	for name, text := range map[string]string{"schedules.yaml": strings.Join(i.objects, "---\n"), "snapshot.json": snapshot, "workloads.yaml": madeUpWorkloads, "empty": "", "bytes": "\xff\xfe\x00\x01", "log": "kubeadm-log begin v1\n", "target": "a"} {
		must(t, os.WriteFile(name, []byte(text), 0o600))
	}
	must(t, os.Mkdir("folder", 0o700))
	must(t, os.WriteFile("folder/a.yaml", []byte(strings.Join(i.objects, "---\n")), 0o600))
	must(t, os.WriteFile("folder/template.yaml", []byte("a: {{ .Values.a }}\n"), 0o600))
	must(t, os.Symlink("target", "link"))
	must(t, os.Symlink("nothing", "dangling"))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// state returns what is at each path, which an invocation must not change.
func (m *machine) state(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	note := func(path string) error {
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		found[path] = info.Mode().String()
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			found[path] += fmt.Sprintf(" %x", sha256.Sum256(text))
		}
		return nil
	}
	must(t, filepath.WalkDir(m.dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return note(path)
	}))
	for _, device := range []string{"/dev/null", "/dev/full"} {
		must(t, note(device))
	}
	return found
}

// goText matches text that Go wrote for programmers.
var goText = regexp.MustCompile(`goroutine |a fault of kubectl upgrade|Go value|interface \{\}|%!|runtime error|(?m:^error:.*[ *](unstructured|v1|v1alpha1|json|errors)\.[A-Z])`)

// try runs the invocation of a seed, checks what came of it, and returns its exit code.
func (m *machine) try(t *testing.T, seed uint64) int {
	t.Helper()
	i := m.invocation(seed)
	m.fill(t, i)
	t.Setenv("KUBECONFIG", i.kubeconfig)
	slow := filepath.Base(i.kubeconfig) == "silent"
	if slow {
		i.args = append(i.args, "--request-timeout=1s")
	}
	wrong := func(format string, args ...any) {
		t.Errorf("SEED=%d KUBECONFIG=%s %.500q: %s", seed, filepath.Base(i.kubeconfig), i.args, fmt.Sprintf(format, args...))
	}
	before := m.state(t)
	var memory, after runtime.MemStats
	runtime.ReadMemStats(&memory)
	var out, errOut bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	done := make(chan int, 1)
	go func() {
		done <- cli.Run(ctx, i.args, genericiooptions.IOStreams{In: strings.NewReader(i.input), Out: &out, ErrOut: &errOut}, "test")
	}()
	code := 0
	select {
	case code = <-done:
	case <-time.After(longest + 5*time.Second):
		t.Fatalf("SEED=%d %q hangs", seed, i.args)
	}
	if ctx.Err() != nil {
		wrong("takes longer than %s: %s", longest, errOut.String())
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - memory.TotalAlloc; used > mostMemory {
		wrong("uses %d MiB", used>>20)
	}
	m.checkText(wrong, code, out.String(), errOut.String())
	m.checkFiles(wrong, i, before, m.state(t))
	if i.kubeconfig == m.kubeconfigs[0] {
		m.cluster.check(t, wrong, i.args)
	}
	if code == 0 && !slices.Contains(i.args, "--help") && slices.Contains([]string{"windows", "plan"}, i.args[0]) && readsSchedules(i.args) {
		m.checkAccepted(t, wrong, i)
	}
	return code
}

// checkText checks the exit code and what was written.
func (m *machine) checkText(wrong func(string, ...any), code int, out, errOut string) {
	errors := 0
	for line := range strings.Lines(errOut) {
		if strings.HasPrefix(line, "error: ") {
			errors++
		}
	}
	failed := slices.Contains([]int{1, 3, 4}, code)
	switch {
	case !failed && code != 0 && code != 2:
		wrong("exit code %d", code)
	case failed && errors != 1, !failed && errors != 0:
		wrong("exit code %d with %d errors: %s", code, errors, errOut)
	case goText.MatchString(errOut):
		wrong("text for programmers: %s", errOut)
	case len(out) > mostOutput || len(errOut) > mostError+10_000:
		wrong("%d bytes of output, %d of errors", len(out), len(errOut))
	case strings.ContainsRune(out+errOut, '\x1b'):
		wrong("an escape sequence: %q %q", out, errOut)
	}
}

// checkFiles checks that only files that the invocation names as its output have changed.
func (m *machine) checkFiles(wrong func(string, ...any), i *invocation, before, after map[string]string) {
	named := func(path string) bool {
		name, _ := filepath.Rel(m.dir, path)
		return slices.ContainsFunc(i.args, func(arg string) bool {
			flag, value, _ := strings.Cut(arg, "=")
			return value == name && writes(flag) || arg == name && slices.ContainsFunc(i.args, writes)
		})
	}
	for path, was := range before {
		if after[path] == was {
			continue
		}
		if path == filepath.Join(m.dir, "target") && named(filepath.Join(m.dir, "link")) && strings.HasPrefix(after[path], "-") {
			continue // it is written through the link
		}
		if !named(path) || strings.HasPrefix(path, "/dev/") || !strings.HasPrefix(after[path], was[:1]) {
			wrong("%s was %s and is %q", path, was, after[path])
		}
	}
	for path := range after {
		if _, existed := before[path]; !existed && !named(path) && !named(filepath.Join(m.dir, "dangling")) {
			wrong("created %s", path)
		}
	}
}

// writes reports whether the flag names a file that is written.
func writes(flag string) bool { return flag == "--output-file" || flag == "--save-snapshot" }

// readsSchedules reports whether the invocation reads schedules.yaml.
func readsSchedules(args []string) bool {
	return slices.Contains(args, "--filename=schedules.yaml") || slices.ContainsFunc(args, func(arg string) bool {
		at := slices.Index(args, arg)
		return (arg == "-f" || arg == "--filename") && at+1 < len(args) && args[at+1] == "schedules.yaml"
	})
}

// checkAccepted checks that the API server would create each object of the file.
func (m *machine) checkAccepted(t *testing.T, wrong func(string, ...any), i *invocation) {
	t.Helper()
	m.accepted++
	for _, text := range i.objects {
		err := m.cluster.server.Post().AbsPath("/apis/"+v1alpha1.GroupVersion.String()+"/maintenanceschedules").Param("dryRun", "All").
			Param("fieldValidation", "Strict").SetHeader("Content-Type", "application/yaml").Body([]byte(text)).Do(t.Context()).Error()
		if err != nil {
			wrong("accepts a file that the API server refuses: %v\n%s", err, text)
		}
	}
}
