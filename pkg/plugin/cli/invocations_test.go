package cli_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math/rand/v2"
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
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

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
// nor uses much memory; that it changes no file but those that it was told to write; and that a
// file of schedules that it accepts is accepted by an API server. INVOCATIONS is how many there
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
	if count >= 500 && (codes[0] < 25 || codes[1] < 100 || m.accepted < 5) {
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
	server      rest.Interface
	kubeconfigs []string // the first is that of a real API server
	verbs       []*cobra.Command
	schedules   []string // texts of schedules, one object each
	accepted    int
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{dir: t.TempDir()}
	config := apitest.Start(t)
	apitest.InstallCRDs(t, config)
	config.QPS = -1
	m.server = kubernetes.NewForConfigOrDie(config).RESTClient()
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
	m.verbs = cli.New(genericiooptions.NewTestIOStreamsDiscard(), "test").Commands()
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

// scheduleTexts are objects in files of schedules: good ones, and ones that are nearly good.
func scheduleTexts() []string {
	const good = "apiVersion: kubectl-upgrade.dev/v1alpha1\nkind: MaintenanceSchedule\nmetadata:\n  name: a\nspec:\n  timeZone: Europe/Berlin\n  maintenanceWindows:\n    - name: w\n      startTime: \"2026-01-03T01:00:00Z\"\n      endTime: \"2026-01-03T05:00:00Z\"\n      recurrence: FREQ=WEEKLY;BYDAY=SA\n"
	texts := []string{
		good, good, good, strings.Replace(good, "maintenanceWindows", "maintenanceExclusions", 1),
		`{"apiVersion": "kubectl-upgrade.dev/v1alpha1", "kind": "MaintenanceSchedule", "metadata": {"name": "j"}, "spec": {}}` + "\n",
	}
	for _, change := range []string{
		"Europe/Berlin=localtime", "Europe/Berlin=Europe/Atlantis", "BYDAY=SA=BYDAY=SAT", "WEEKLY=HOURLY", "T05:=T00:", "name: w=name: W", "name: a=name: A_b", "name: a=name: ", "  timeZone=  timezone",
		"2026-01-03T01=2026-02-30T01", "v1alpha1=v1", "MaintenanceSchedule=ConfigMap", "SA=SA;COUNT=1000000", "\"2026=2026", "    - name=    -name", "spec:=spec: null\nx:",
	} {
		from, to, _ := strings.Cut(change, "=")
		texts = append(texts, strings.Replace(good, from, to, 1))
	}
	return texts
}

// invocation is one call of the plugin.
type invocation struct {
	args, objects []string // objects are the texts in schedules.yaml
	kubeconfig    string
	input         string
	sane          bool // made of what verbs accept
	random        *rand.Rand
}

// words are values of arguments: good ones for some flag, and ones that people type by mistake.
var words = []string{
	"", " ", "a", "A_b", "-", "--", "-1", "0", "1", "5", "101%", "20%", "99999999999999999999", "1d", "90m", "2h30m", "soon", "true", "yes", "none", "client", "server",
	"v1.34", "v1.34.4", "1.35", "v1.35.4", "v9.9.9", "latest", "2026-12-24 18:00", "2026-12-24T18:00:00Z", "2026-02-30T00:00:00Z", "Europe/Berlin", "localtime", "UTC", "Mars/Phobos",
	"json", "yaml", "wide", "name", "html", "markdown", "jsonpath={.items[*].metadata.name}", "jsonpath={.items", "jsonpath={..name}", "custom-columns=A:.metadata.name", "go-template={{.kind}}", "xml",
	"pool=db", "pool in (a, b)", "pool in (a", "!gpu", "=", "Patch", "minor", "Reboot", "Sunday", "etcd-single=a reason", "w1", "node/w1", "clusterupgrade/v1.35.4", "kubectl-upgrade",
	"\x1b[31mred\x1b[0m", "ü", "\xff\xfe", strings.Repeat("a", 10_000), "$(id)", "../..", "bash", "fish", "kubectl", "kured", "--help", "--yes", "-o", "6",
}

// files are what is in the folder, and paths beside it.
var files = []string{
	"schedules.yaml", "schedules.yaml", "schedules.yaml", "snapshot.json", "snapshot.json", "empty", "bytes", "folder", "missing", "link", "dangling", "out.html", "out.md", "out.json", "out.xyz", "missing/out.html", "-", "/dev/null", "/dev/full", "log",
}

// usual are values that a flag accepts, and one argument that a verb accepts.
var usual = map[string][]string{
	"output": {"json", "yaml", "wide", "jsonpath={.kind}"}, "filename": {"schedules.yaml"}, "snapshot": {"snapshot.json"}, "save-snapshot": {"out.json", "link", "-"},
	"output-file": {"out.html", "out.md", "link", "-", "/dev/null"}, "for": {"2h", "1d"}, "until": {"2027-01-07T00:00:00Z"}, "from": {"2026-12-24T18:00:00Z"}, "at": {"2026-12-24 18:00"},
	"start-time": {"2026-12-24 18:00"}, "node-selector": {"pool=db"}, "selector": {"pool=db"}, "time-zone": {"Europe/Berlin", "UTC"}, "color": {"never"}, "reason": {"a reason"},
	"dry-run": {"client", "server"}, "timeout": {"1s"}, "count": {"3"}, "upgrades": {"Patch"}, "max-unavailable": {"20%"}, "method": {"Reboot"}, "ignore-check": {"etcd-single=a reason"},
	"labels": {"pool=db"}, "type": {"Minor"}, "group": {"canary"}, "context": {"c"}, "request-timeout": {"2s"}, "schedule": {"a"},
	"verb status": {"", "w1"}, "verb plan": {"", "v1.35.4", "v1.34"}, "verb apply": {"v1.35.4"}, "verb history": {"", "a"}, "verb report": {"v1.35.4"}, "verb freeze": {"", "a"}, "verb unfreeze": {"a", ""},
	"verb suspend": {"v1.35.4"}, "verb resume": {"v1.35.4"}, "verb approve": {"v1.35.4"}, "verb abandon": {"w1"}, "verb completion": {"bash", "kubectl"},
}

func (i *invocation) pick(from []string) string { return from[i.random.IntN(len(from))] }

// value returns a value for a flag: often of its kind.
func (i *invocation) value(flag *pflag.Flag) string {
	if good := usual[flag.Name]; i.sane && len(good) > 0 {
		return i.pick(good)
	}
	switch kind := i.random.IntN(10); {
	case strings.Contains(flag.Name, "file") || strings.Contains(flag.Name, "snapshot") || strings.Contains(flag.Name, "log"):
		return i.pick(files)
	case kind < 2 && flag.DefValue != "":
		return flag.DefValue
	}
	return i.pick(words)
}

// invocation makes up the invocation of a seed.
func (m *machine) invocation(seed uint64) *invocation {
	i := &invocation{random: rand.New(rand.NewPCG(seed, 28))}
	i.sane, i.kubeconfig = i.random.IntN(2) == 0, m.kubeconfigs[0]
	if !i.sane && i.random.IntN(2) == 0 {
		i.kubeconfig = i.pick(m.kubeconfigs)
	}
	alone := i.random.IntN(2) == 0 // one object, whose faults no other hides
	for n := range i.random.IntN(4) {
		text := i.pick(m.schedules)
		switch {
		case alone && n > 0:
			continue
		case !alone && i.sane && i.random.IntN(4) > 0:
			text = m.schedules[0]
		}
		i.objects = append(i.objects, strings.Replace(text, "name: a\n", fmt.Sprintf("name: a%d\n", n), 1))
	}
	verb := m.verbs[i.random.IntN(len(m.verbs))]
	if i.random.IntN(4) == 0 {
		verb = m.verbs[slices.IndexFunc(m.verbs, func(v *cobra.Command) bool { return v.Name() == "windows" })]
	}
	i.args = []string{verb.Name()}
	if sub := verb.Commands(); len(sub) > 0 && i.random.IntN(4) > 0 {
		verb = sub[i.random.IntN(len(sub))]
		i.args = append(i.args, verb.Name())
	}
	if !i.sane && i.random.IntN(10) == 0 {
		i.args[0] = i.pick(words)
	}
	var flags []*pflag.Flag
	verb.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f) })
	verb.InheritedFlags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f) })
	// These decide where requests and other files go.
	flags = slices.DeleteFunc(flags, func(f *pflag.Flag) bool {
		return slices.Contains([]string{"server", "kubeconfig", "cache-dir", "proxy-url", "help"}, f.Name)
	})
	if i.sane {
		// The cluster's own flags have values for other clusters.
		flags = slices.DeleteFunc(flags, func(f *pflag.Flag) bool { return f.Hidden || f.Name == "context" })
	}
	for range i.random.IntN(4) {
		flag := flags[i.random.IntN(len(flags))]
		name := "--" + flag.Name
		if !i.sane && i.random.IntN(12) == 0 {
			name += "x"
		}
		switch {
		case flag.NoOptDefVal != "" && i.random.IntN(2) == 0:
			i.args = append(i.args, name)
		case i.random.IntN(2) == 0:
			i.args = append(i.args, name, i.value(flag))
		default:
			i.args = append(i.args, name+"="+i.value(flag))
		}
	}
	if flag := verb.Flags().Lookup("filename"); flag != nil && (i.sane || i.random.IntN(2) == 0) {
		i.args = append(i.args, "-f", i.value(flag))
	}
	if good := usual["verb "+i.args[0]]; i.sane && len(good) > 0 {
		if word := i.pick(good); word != "" {
			i.args = append(i.args, word)
		}
	}
	for !i.sane && i.random.IntN(2) == 0 {
		i.args = append(i.args, i.pick(words))
	}
	if verb.Flags().Lookup("timeout") != nil { // it may follow an upgrade
		i.args = append(i.args[:1:1], append([]string{"--timeout=1s"}, i.args[1:]...)...)
	}
	i.input = i.pick([]string{"", "yes\n", "no\n", strings.Join(i.objects, "---\n")})
	return i
}

// fill puts the folder into the state in which every invocation begins.
func (m *machine) fill(t *testing.T, i *invocation) {
	t.Helper()
	entries, err := os.ReadDir(m.dir)
	must(t, err)
	for _, entry := range entries {
		must(t, os.RemoveAll(filepath.Join(m.dir, entry.Name())))
	}
	snapshot := snapshotText(t)
	if i.random.IntN(4) == 0 {
		snapshot = snapshot[:i.random.IntN(len(snapshot))]
	}
	for name, text := range map[string]string{"schedules.yaml": strings.Join(i.objects, "---\n"), "snapshot.json": snapshot, "empty": "", "bytes": "\xff\xfe\x00\x01", "log": "kubeadm-log begin v1\n", "target": "a"} {
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

// snapshotText is a snapshot of a cluster that is being upgraded.
func snapshotText(t *testing.T) string {
	t.Helper()
	_, file, _, _ := runtime.Caller(0)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(file), "../report/testdata/running-snapshot.json"))
	must(t, err)
	return string(text)
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
var goText = regexp.MustCompile(`goroutine |a fault of kubectl upgrade|Go value|interface \{\}|%!|runtime error`)

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
	if code == 0 && slices.Contains([]string{"windows", "plan"}, i.args[0]) && readsSchedules(i.args) {
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
		err := m.server.Post().AbsPath("/apis/"+v1alpha1.GroupVersion.String()+"/maintenanceschedules").Param("dryRun", "All").
			Param("fieldValidation", "Strict").SetHeader("Content-Type", "application/yaml").Body([]byte(text)).Do(t.Context()).Error()
		if err != nil {
			wrong("accepts a file that the API server refuses: %v\n%s", err, text)
		}
	}
}
