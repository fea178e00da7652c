package network

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
)

// nftMatches are the lab's packets, by the hook that a chain is at.
var nftMatches = map[string][]string{
	"forward": {"iifname", Bridge, "oifname", Bridge},
	"input":   {"iifname", Bridge, "ip", "daddr", Host},
	"output":  {"oifname", Bridge, "ip", "saddr", Host},
}

// nftChain and nftRule are what nft says of a chain and a rule.
type nftChain struct {
	Family, Table, Name, Type, Hook string
}

type nftRule struct {
	Family, Table, Chain, Comment string
	Handle                        int
}

// acceptNFT adds rules to every chain that filters. A packet has to be accepted in
// each of them: dropped in one, it is lost.
func acceptNFT(ctx context.Context) error {
	chains, rules, err := nftRuleset(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, c := range chains {
		match, known := nftMatches[c.Hook]
		if !known || c.Type != "filter" || (c.Family != "ip" && c.Family != "inet") {
			continue
		}
		if slices.ContainsFunc(rules, func(r nftRule) bool {
			return r.Comment == mark && r.Family == c.Family && r.Table == c.Table && r.Chain == c.Name
		}) {
			continue
		}
		rule := append([]string{"insert", "rule", c.Family, c.Table, c.Name}, match...)
		// A table may be another program's own, as firewalld's are: others are still open.
		_, err := run(ctx, "nft", append(rule, "counter", "accept", "comment", `"`+mark+`"`)...)
		failed = errors.Join(failed, err)
	}
	return failed
}

func forgetNFT(ctx context.Context) error {
	_, rules, err := nftRuleset(ctx)
	if err != nil {
		return nil //nolint:nilerr // what cannot list rules has not added any
	}
	for _, r := range rules {
		if r.Comment != mark {
			continue
		}
		if _, err := run(ctx, "nft", "delete", "rule", r.Family, r.Table, r.Chain, "handle", strconv.Itoa(r.Handle)); err != nil {
			return err
		}
	}
	return nil
}

func nftRuleset(ctx context.Context) (chains []nftChain, rules []nftRule, err error) {
	out, err := exec.CommandContext(ctx, "nft", "--json", "--handle", "list", "ruleset").Output()
	if err != nil {
		return nil, nil, fmt.Errorf("listing the rules of nftables: %w", err)
	}
	var list struct {
		Nftables []struct {
			Chain *nftChain
			Rule  *nftRule
		}
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, nil, fmt.Errorf("listing the rules of nftables: %w", err)
	}
	for _, one := range list.Nftables {
		if one.Chain != nil {
			chains = append(chains, *one.Chain)
		}
		if one.Rule != nil {
			rules = append(rules, *one.Rule)
		}
	}
	return chains, rules, nil
}
