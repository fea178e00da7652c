package cli_test

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/cli"
)

// allCommands returns every verb, and its words.
func allCommands() map[*cobra.Command][]string {
	found := map[*cobra.Command][]string{}
	var add func(*cobra.Command, []string)
	add = func(cmd *cobra.Command, words []string) {
		for _, sub := range cmd.Commands() {
			path := append(append([]string{}, words...), sub.Name())
			found[sub] = path
			add(sub, path)
		}
	}
	add(cli.New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard}, "test"), nil)
	return found
}

// refused checks that a command is refused with one line that begins like that.
func refused(t *testing.T, want string, args ...string) {
	t.Helper()
	_, errOut, code := offline(t, args...)
	if code != 1 || !strings.HasPrefix(errOut, "error: "+want) || strings.Count(errOut, "\n") != 1 {
		t.Errorf("%q: got exit code %d and %q, want 1 and %q", args, code, errOut, want)
	}
}

// TestEmptyValuesAreRefused checks every flag and argument of every verb: a variable that is not
// set never becomes a default.
func TestEmptyValuesAreRefused(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "missing"))
	flags := 0
	for cmd, words := range allCommands() {
		check := func(flag *pflag.Flag) {
			if flag.Name == "namespace" || flag.Name == "help" {
				return
			}
			flags++
			for _, value := range []string{"", " \t"} {
				refused(t, "--"+flag.Name+" is empty: perhaps a variable is not set", append(words, "--"+flag.Name+"="+value)...)
			}
		}
		cmd.Flags().VisitAll(check)
		cmd.InheritedFlags().VisitAll(check)
		refused(t, "an argument is empty: perhaps a variable is not set; usage: kubectl upgrade "+strings.Join(words, " "), append(words, "")...)
	}
	if flags < 300 {
		t.Errorf("there are only %d flags", flags)
	}
	for command, name := range map[string]string{
		"windows|-f||-f|a.yaml":                         "filename",
		"plan|-f|a.yaml,,b.yaml":                        "filename",
		"plan|--snapshot":                               "",
		"freeze|--for|1h|--reason|x|--upgrades|Patch,":  "upgrades",
		"apply|v1.34.5|--ignore-check|":                 "ignore-check",
		"freeze|a|--reason||--for|1h|--dry-run=client":  "reason",
		"--context||status":                             "context",
		"approve|v1.34.4|--group|":                      "group",
		"windows|--labels|":                             "labels",
		"freeze|--for|1h|--reason|x|--node-selector|  ": "selector",
	} {
		want := "--" + name + " is empty: "
		if name == "" {
			want = "flag needs an argument: --snapshot"
		}
		refused(t, want, strings.Split(command, "|")...)
	}
	refused(t, "an argument is empty: perhaps a variable is not set; see `kubectl upgrade --help`", "")
	if _, errOut, code := offline(t, "version", "--client", "-n", ""); code != 0 {
		t.Errorf("-n with an empty value: got exit code %d and %s", code, errOut)
	}
}

// TestFlagsAreNoValues checks that a flag does not become the value of the flag before it, and
// that text may begin with a dash.
func TestFlagsAreNoValues(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "missing"))
	for command, want := range map[string]string{
		"freeze --for 4h --reason --dry-run=server":      "--reason has the flag --dry-run=server as its value: ",
		"abandon w-1 --reason --yes":                     "--reason has the flag --yes as its value: ",
		"abandon w-1 --reason -y":                        "--reason has the flag -y as its value: ",
		"apply v1.35 --start-time --yes":                 "--start-time has the flag --yes as its value: ",
		"plan -f --at 2027-01-01":                        "--filename has the flag --at as its value: ",
		"freeze --for 4h --reason x --dry-run server":    `--dry-run server: the value needs a "=": write --dry-run=server`,
		"freeze --for 4h --reason x --dry-run client":    `--dry-run client: the value needs a "=": write --dry-run=client`,
		"apply v1.35 --dry-run server":                   `--dry-run server: the value needs a "=": `,
		"unfreeze --dry-run none":                        `--dry-run none: the value needs a "=": `,
		"suspend v1.35.4 --dry-run server":               `--dry-run server: the value needs a "=": `,
		"resume --dry-run server v1.35.4":                `--dry-run server: the value needs a "=": `,
		"approve v1.35.4 --dry-run server":               `--dry-run server: the value needs a "=": `,
		"abandon w-1 --reason x --dry-run server":        `--dry-run server: the value needs a "=": `,
		"migrate kured --apply --dry-run server":         `--dry-run server: the value needs a "=": `,
		"windows -f a.yaml --timeout 1h":                 "unknown flag: --timeout",
		"version --client -o name":                       "-o name: versions have no names; use -o json",
		"doctor -o name":                                 "-o name: a diagnosis has no name; use -o json",
		"freeze server --for 4h --reason --nonsense=":    "",
		"freeze server --dry-run --for 4h --reason x":    "",
		"freeze --for 4h --dry-run --reason=-disk":       "",
		"freeze --for 4h --dry-run=client --reason -":    "",
		"freeze --for 4h --dry-run=client --reason -dis": "",
	} {
		args := strings.Fields(command)
		if want != "" {
			refused(t, want, args...)
			continue
		}
		if _, errOut, code := offline(t, append(args, "--dry-run=client")...); code != 0 {
			t.Errorf("%s: got exit code %d and %s", command, code, errOut)
		}
	}
}

// TestNoTypingErrorSuggestsToAbandon checks what stands near that verb.
func TestNoTypingErrorSuggestsToAbandon(t *testing.T) {
	for _, word := range []string{"abandn", "abanndon", "aban", "abandone", "ABANDON", "bandon", "a"} {
		if _, errOut, code := offline(t, word); code != 1 || strings.Contains(errOut, "upgrade abandon") {
			t.Errorf("%s: got exit code %d and %s", word, code, errOut)
		}
	}
	refused(t, "unknown command \"aply\"; did you mean `kubectl upgrade apply`?", "aply")
}

// TestLongArgumentsAreCut checks that an error does not repeat what fills a screen, and still
// says what is expected.
func TestLongArgumentsAreCut(t *testing.T) {
	word, sentence := strings.Repeat("x", 10_000), strings.Repeat("x y ", 2_500)
	for about, args := range map[string][]string{
		"expected a version": {"apply", word}, "must be a time such as": {"plan", "--at", sentence}, "must be a duration such as": {"freeze", "--reason", "x", "--for", word},
		"is one argument too many": {"windows", word}, "see `kubectl upgrade --help`": {word}, "unknown flag": {"status", "--" + word}, "must be an IANA name": {"plan", "--time-zone", sentence},
		"no such file": {"windows", "-f", word[:250]}, "must be a whole number": {"windows", "--count", word}, "must be auto, always or never": {"version", "--color", word},
	} {
		_, errOut, code := offline(t, args...)
		if code != 1 || len(errOut) > 2_000 || !strings.Contains(errOut, about) {
			t.Errorf("%s: got exit code %d and %d letters: %.300s", about, code, len(errOut), errOut)
		}
	}
}

// TestListsAreReadWhole checks that no value of a list is lost: of several lines, such as those of
// "$(ls)", pflag reads the first, and of two values of a key the last.
func TestListsAreReadWhole(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "missing"))
	lists := 0
	for cmd, words := range allCommands() {
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if kind := flag.Value.Type(); kind != "stringSlice" && kind != "stringToString" {
				return
			}
			lists++
			for _, lines := range []string{"a=b\nc=d", "a=b,c=d\r\ne=f"} {
				refused(t, "--"+flag.Name+" has several lines: separate values by commas", append(words, "--"+flag.Name+"="+lines)...)
			}
			refused(t, "--"+flag.Name+"=\"a=b,c=d: a value with a comma or a \" has to stand in \"", append(words, "--"+flag.Name+"=\"a=b,c=d")...)
		})
	}
	if lists < 4 {
		t.Errorf("there are only %d lists", lists)
	}
	refused(t, "--labels has two values for a, and no node has both", "windows", "--labels", "a=b,a=c")
	refused(t, "--labels has two values for a, and no node has both", "windows", "--labels", "a=b", "--labels", "a=c")
}
