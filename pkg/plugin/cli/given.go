package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// checkGiven refuses what a shell makes of a variable that is not set, and of a space that should
// be a "=". What was asked for is not known then, and the default may be to begin at once, on
// every node, or in another cluster.
func (p *program) checkGiven(cmd *cobra.Command, args []string) error {
	if cmd.Flags().Lookup("dry-run") != nil {
		if err := checkDryRunWord(p.args); err != nil {
			return err
		}
	}
	// The flags have been set. A list keeps no empty value that came before another one, so
	// they are looked at as they were given.
	keys := map[string]bool{}
	err := cmd.Flags().ParseAll(p.args, func(flag *pflag.Flag, value string) error {
		if err := checkValue(cmd.Flags(), flag, value); err != nil || flag.Value.Type() != stringToString {
			return err
		}
		return checkKeys(flag, value, keys)
	})
	if err != nil {
		return err
	}
	if slices.ContainsFunc(args, isBlank) {
		return fmt.Errorf("an argument is empty: perhaps a variable is not set; usage: %s", usageOf(cmd))
	}
	return nil
}

func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

func usageOf(cmd *cobra.Command) string { return strings.TrimSuffix(cmd.UseLine(), " [flags]") }

// checkDryRunWord refuses the value of --dry-run as a word of its own: it would be an argument,
// such as the name of a freeze.
func checkDryRunWord(args []string) error {
	for i, word := range args[:max(len(args)-1, 0)] {
		next := args[i+1]
		if word == "--dry-run" && slices.Contains([]string{dryRunNone, dryRunClient, dryRunServer}, next) {
			return fmt.Errorf("--dry-run %s: the value needs a \"=\": write --dry-run=%s", next, next)
		}
	}
	return nil
}

// checkValue checks a value of a flag. Text may begin with "-", but not be a flag of the command.
func checkValue(all *pflag.FlagSet, flag *pflag.Flag, value string) error {
	parts := []string{value}
	if kind := flag.Value.Type(); kind == "stringSlice" || kind == stringToString {
		parts = strings.Split(value, ",")
		if strings.ContainsAny(value, "\r\n") && !isBlank(value) { // of several lines, pflag reads the first
			return fmt.Errorf("--%s has several lines: separate values by commas, or give the flag several times", flag.Name)
		}
	}
	name, isLong := strings.CutPrefix(value, "--")
	name, _, _ = strings.Cut(name, "=")
	short, isShort := strings.CutPrefix(value, "-")
	switch {
	case flag.Name == "namespace": // kubectl's, where empty means the default; no object here has one
		return nil
	case slices.ContainsFunc(parts, isBlank):
		return emptyFlag(flag)
	case isLong && all.Lookup(name) != nil, isShort && len(short) == 1 && all.ShorthandLookup(short) != nil:
		return fmt.Errorf("--%s has the flag %s as its value: perhaps a variable is not set", flag.Name, value)
	}
	return nil
}

// stringToString is pflag's type of a flag with keys and values.
const stringToString = "stringToString"

// checkKeys refuses a second value for a key. keys are those that were given before.
func checkKeys(flag *pflag.Flag, value string, keys map[string]bool) error {
	for part := range strings.SplitSeq(value, ",") {
		key, _, _ := strings.Cut(part, "=")
		if keys[key] {
			return fmt.Errorf("--%s has two values for %s, and no node has both", flag.Name, key)
		}
		keys[key] = true
	}
	return nil
}

func emptyFlag(flag *pflag.Flag) error {
	return fmt.Errorf("--%s is empty: perhaps a variable is not set; give it a value, or leave it out", flag.Name)
}
