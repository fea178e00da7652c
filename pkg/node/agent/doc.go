// Package agent takes one node through its upgrades. It observes the node, calls
// machine.Next, carries out the action, and repeats.
//
// It promises:
//
//   - Package machine chooses every next step and action. The agent may only refuse one:
//     the gate is closed, the NodeUpgrade's spec does not match its ClusterUpgrade, or a
//     person has abandoned the node.
//   - All state is in NodeUpgrade.status or can be observed again, so the agent may crash
//     at any point.
//   - The status is written before anything is done that depends on it. Steps that only
//     pass are written with the one after them.
//   - It reacts to watches: its NodeUpgrade, its Node, its slot's Lease, the
//     units on the host, and the node's pods during a drain. It polls only what depends
//     on time. A worker watches no object of another node, unless it cannot know which
//     slot is its own.
//   - The gate is read live, not from a cache. A gate that cannot be read is closed.
//   - Nodes and pods are written with the kubelet's identity, which the API server
//     restricts to this node. All else uses the ServiceAccount's.
//   - An unavailable API server ends neither a verb on the host nor the agent: the upgrade
//     of a single control plane makes it unavailable twice.
//
// Its parts, in the order of one reconcile:
//
//	loop      Agent and its clients: agent.go, identity.go, readretry.go; the loop:
//	          loop.go; what wakes it: watch.go, slotwatch.go; one reconcile at a time, for the
//	          simulator: steps.go
//	observe   the Node, the Leases and the NodeUpgrade: observe.go; the verbs' results
//	          and the host's facts for machine: hostfacts.go, osreboot.go; the agent's
//	          view of the host, and when it is renewed: hostview.go; etcd's members:
//	          etcd.go, etcdsnapshot.go; the control plane's health: health.go; whether
//	          the kubelet may write its Node: registration.go; whether it renews its
//	          Lease: lease.go
//	gate      why the node may not continue: gate.go, gateupgrade.go, specmatch.go,
//	          policy.go, skew.go, etcdgate.go, managers.go
//	persist   machine's State as NodeUpgrade.status: status.go, state.go, conditions.go,
//	          writes.go; the NodeInventory: inventory.go, factschanged.go
//	act       one action: act.go; a verb on the host: startverb.go,
//	          kubeadmconfig.go; the cordon: cordon.go; before a reboot: abandoned.go
//	beside    kubeadm's output in the agent's log: kubeadmlog.go
package agent
