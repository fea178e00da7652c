package cli_test

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/cli"
)

// TestOtherWordsNameACommand checks that what people type for a command is answered with one that exists.
func TestOtherWordsNameACommand(t *testing.T) {
	for word, want := range map[string]string{
		"pause":   "`kubectl upgrade suspend` stops it before the next node",
		"stop":    "`kubectl upgrade suspend` stops it before the next node",
		"cancel":  "`kubectl upgrade suspend` stops it before the next node, and `kubectl delete clusterupgrade NAME` then ends it, which the history calls Canceled",
		"abort":   "`kubectl upgrade suspend` stops it before the next node, and `kubectl delete clusterupgrade NAME` then ends it, which the history calls Canceled",
		"undo":    "`kubectl upgrade rollback --all --reason TEXT` takes kubelets back to the former patch",
		"logs":    "`kubectl upgrade status NODE --log` prints kubeadm's output on a node",
		"restart": "`kubectl upgrade reboot --reason TEXT` reboots the nodes that ask for it, and with NODE --force those that do not",
		"renew":   "did you mean `kubectl upgrade certificates renew`?",
		"why":     "`kubectl upgrade status NODE` says why a node waits, and `kubectl upgrade plan` why the upgrade does, and until when",
		"hold": "`kubectl label node NODE kubectl-upgrade.dev/hold=` keeps one node from beginning, `kubectl upgrade suspend` stops the upgrade before the next node, " +
			"and `kubectl upgrade freeze --for 4h --reason TEXT` holds all upgrades",
		"v1.34.4": "`kubectl upgrade plan v1.34.4` shows what would happen, and `kubectl upgrade apply v1.34.4` does it",
		"1.35":    "`kubectl upgrade plan 1.35` shows what would happen, and `kubectl upgrade apply 1.35` does it",
	} {
		refused(t, "unknown command \""+word+"\"; "+want+"\n", word)
		refused(t, "unknown command \""+word+"\"; "+want+"\n", word, "w1")
	}
	refused(t, "VERSION \"Certificates\" is no version: `kubectl upgrade certificates renew` has kubeadm renew certificates\n", "apply", "Certificates", "--yes")
	refused(t, "VERSION \"reboot\" is no version: `kubectl upgrade reboot` reboots nodes\n", "apply", "reboot", "--yes")
	refused(t, "unknown command \"pause\"; see `kubectl upgrade fleet --help`\n", "fleet", "pause")
	root := cli.New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard}, "v0")
	for _, word := range cli.OtherWords() {
		if found, _, err := root.Find([]string{word}); err != nil || found != root {
			t.Errorf("%s: it is a command itself: %v, error %v", word, found.Name(), err)
		}
		_, errOut, _ := offline(t, word)
		commands := regexp.MustCompile("`kubectl upgrade (.+?)`").FindAllStringSubmatch(errOut, -1)
		if len(commands) == 0 {
			t.Errorf("%s: no command is named: %s", word, errOut)
		}
		for _, command := range commands {
			cmd, args, err := root.Find(strings.Fields(command[1]))
			if err != nil || cmd == root {
				t.Errorf("%s: there is no %s: %v", word, command[0], err)
				continue
			}
			if err := cmd.ParseFlags(args); err != nil {
				t.Errorf("%s: %s: %v", word, command[0], err)
			}
		}
	}
}
