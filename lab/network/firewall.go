package network

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/host"
)

// mark is the comment of every firewall rule that is the lab's.
const mark = "kubectl-upgrade-lab"

// firewall is a program that has rules for this machine's packets. accept adds rules
// for the lab's bridge, and forget removes them.
type firewall struct {
	program        string
	accept, forget func(ctx context.Context) error
}

// firewalls come in the order in which they are asked: firewalld keeps others out of
// its tables, and most programs named iptables write to tables that nft has too.
var firewalls = []firewall{
	{"firewall-cmd", trust, distrust},
	{"nft", acceptNFT, forgetNFT},
	{"iptables", iptables("iptables").accept, iptables("iptables").forget},
	{"iptables-legacy", iptables("iptables-legacy").accept, iptables("iptables-legacy").forget},
}

// Admit makes sure that this machine's firewall lets the lab's packets through: that
// of Docker, for example, drops all that is forwarded, and with the module
// br_netfilter also what a bridge forwards. Rules are added only where packets are
// dropped without them; record remembers which programs have some.
func Admit(ctx context.Context, record host.Record) error {
	blocked := reach(ctx)
	for _, one := range firewalls {
		if blocked == nil {
			return nil
		}
		if !errors.As(blocked, &blockedError{}) {
			return blocked
		}
		if _, err := exec.LookPath(one.program); err != nil {
			continue
		}
		if err := record.Add(one.program); err != nil {
			return err
		}
		// A program whose firewall is not in use may fail. What counts is what reach finds.
		_ = one.accept(ctx)
		blocked = reach(ctx)
	}
	if blocked == nil {
		return nil
	}
	return fmt.Errorf("a firewall of this machine drops packets %w: have it accept what comes from %s or goes there", blocked, Bridge)
}

// Dismiss removes all rules that Admit has added.
func Dismiss(ctx context.Context, record host.Record) error {
	programs, err := record.Names()
	if err != nil {
		return err
	}
	for _, one := range firewalls {
		if !slices.Contains(programs, one.program) {
			continue
		}
		if err := one.forget(ctx); err != nil {
			return fmt.Errorf("removing the lab's rules from the firewall: %w", err)
		}
	}
	return record.Remove()
}

// trust puts the bridge into firewalld's zone that accepts everything, until
// firewalld stops.
func trust(ctx context.Context) error {
	_, err := run(ctx, "firewall-cmd", "--zone=trusted", "--change-interface="+Bridge)
	return err
}

func distrust(ctx context.Context) error {
	if _, err := run(ctx, "firewall-cmd", "--state"); err != nil {
		return nil //nolint:nilerr // firewalld does not run, and has forgotten it
	}
	if _, err := run(ctx, "firewall-cmd", "--zone=trusted", "--query-interface="+Bridge); err != nil {
		return nil //nolint:nilerr // it is not in the zone
	}
	_, err := run(ctx, "firewall-cmd", "--zone=trusted", "--remove-interface="+Bridge)
	return err
}
