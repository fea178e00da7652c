// Package sim simulates clusters: it runs the agents and the coordinator of the product
// against a simulated API server, simulated nodes and a simulated clock, in one process,
// while random faults happen. It consists of tests only. docs/simulator.md describes how
// to use it.
//
// The product's own code: everything in agent, coordinator, machine, plan, slot, drain,
// snapshot (the reader, and ReadPreflight), guard, and client-go's typed clients. They run
// through agent.Driver and coordinator.Driver: one reconcile or plan at a time. Their
// requests end in an http.RoundTripper, which is the simulated API server.
//
// Modelled:
//
//   - The API server (api, apiwrite, apply, lists, transport). TestAgainstRealServer makes
//     the same requests of a real one and compares the answers. It refuses what does not fit
//     its custom resource definition (limits), whose rules in CEL count only if they are
//     patterns. Of admission, it has what keeps UpgradePolicies from being deleted (admission);
//     authorization is not modelled.
//   - Watches (view, watch), also those of slots, whose scope an agent changes: each program has its own caches, filled from the server's
//     log, late, or without an event until the next list. A new program may begin with
//     an old list. A cache shows the newest version of an object, not each one.
//   - The node (node, host, facts, kubelet, guard): what the host verbs do, how long they
//     take, boots, kubelet, static pods, their certificates, etcd's members, and package rollback, which
//     observes and acts for the guard. Package guard itself decides.
//   - The findings of preflight, which a script gives, and the source of images.
//   - Leader election: the faults start a second coordinator.
//
// Time is that of a bubble of testing/synctest, so that the product's own time.Now and
// sleeps are simulated too. Only one goroutine acts at a time. A fault may have another
// program run between two requests of one that runs.
//
// A script (script, random) has the cluster, its upgrade, what people ask for (people) and
// the faults (faults, switches, nodefaults, hostfaults, clock, programfaults, liars, texts,
// secondrequests, gateclock, policyagain, earlyfaults, rebootfile, certificates); checkscript has that each
// of them does something. A world (world, simulate, end) carries it out. The promises are checked when a program sends a request or
// starts a verb, when an object changes, and after each event (promises, explained, and the
// files check*). If one breaks, shrink shortens the script.
//
// TestChains simulates three clusters that follow each other (chain).
//
// It promises that a seed gives the same story each time.
package sim
