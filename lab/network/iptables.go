package network

import (
	"context"
	"os/exec"
	"strings"
)

// iptables is a program of that family: one writes to nf_tables, one to tables of
// its own.
type iptables string

// acceptRules are what the lab's packets need, chain by chain: those between nodes,
// and those between nodes and the machine's own address on the bridge.
var acceptRules = []struct {
	chain string
	match []string
}{
	{"FORWARD", []string{"-i", Bridge, "-o", Bridge}},
	{"INPUT", []string{"-d", Host, "-i", Bridge}},
	{"OUTPUT", []string{"-s", Host, "-o", Bridge}},
}

func (i iptables) accept(ctx context.Context) error {
	if i.idle(ctx) {
		return nil
	}
	return i.each(func(chain string, rule []string) error {
		if i.has(ctx, chain, rule) {
			return nil
		}
		_, err := run(ctx, string(i), append([]string{"-w", "-I", chain}, rule...)...)
		return err
	})
}

func (i iptables) forget(ctx context.Context) error {
	if i.idle(ctx) {
		return forgetNFT(ctx)
	}
	return i.each(func(chain string, rule []string) error {
		for i.has(ctx, chain, rule) {
			if _, err := run(ctx, string(i), append([]string{"-w", "-D", chain}, rule...)...); err != nil {
				return err
			}
		}
		return nil
	})
}

// idle reports whether the program can do nothing: it is not there, or nft does what
// it would do. Even to look, it would make tables that this machine may not have.
func (i iptables) idle(ctx context.Context) bool {
	version, err := run(ctx, string(i), "--version")
	if err != nil {
		return true
	}
	_, err = exec.LookPath("nft")
	return err == nil && strings.Contains(version, "nf_tables")
}

func (i iptables) each(do func(chain string, rule []string) error) error {
	for _, rule := range acceptRules {
		all := append(append([]string{}, rule.match...), "-m", "comment", "--comment", mark, "-j", "ACCEPT")
		if err := do(rule.chain, all); err != nil {
			return err
		}
	}
	return nil
}

// has reports whether the chain has the rule. A kernel without such tables has none.
func (i iptables) has(ctx context.Context, chain string, rule []string) bool {
	return exec.CommandContext(ctx, string(i), append([]string{"-w", "-C", chain}, rule...)...).Run() == nil
}
