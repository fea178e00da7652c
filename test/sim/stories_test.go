package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// plain is a script without faults.
func plain() script {
	return script{
		Seed: 1, NoNoise: true, ControlPlanes: 1, Workers: 2, Budget: 1, Pods: 1, From: "v1.34.3", To: "v1.34.4",
		Guard: 60, Drain: 60, Closes: time.Hour, Lasts: 15 * time.Minute,
	}
}

// TestStories runs scripts that found something once, and checks how they end.
func TestStories(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*script)
		want   string // in the story, or in the outcome
	}{
		"nothing happens": {func(*script) {}, "all 3 nodes run v1.34.4"},
		"an image whose kubelet never gets Ready is rolled back": {
			func(s *script) { s.Broken = map[string]string{"cp1": imageNotReady} },
			"cp1 is in step RolledBack",
		},
		"an image whose kubelet never gets Ready is held against its version": {
			func(s *script) { s.Broken = map[string]string{"cp1": imageNotReady} },
			"coordinator holds against v1.34.4: node cp1 failed (RolledBack)",
		},
		"a node whose containerd fails in its boot is at fault itself": {
			func(s *script) {
				s.Faults = []fault{{Step: v1alpha1.StepRebooting, Kind: "containerd fails", For: 5 * time.Minute}}
			},
			"cp1 is in step RolledBack (NodeAtFault",
		},
		"a node that gets an odd extension after its rehearsal is at fault itself": {
			func(s *script) {
				s.Faults = []fault{{Step: v1alpha1.StepRebooting, Kind: "odd extension", For: 10 * time.Minute}}
			},
			"cp1 is in step Failed (NodeAtFault",
		},
		"a node whose containerd a person has mended is upgraded by a retry": {
			func(s *script) {
				s.Faults = []fault{
					{Step: v1alpha1.StepRebooting, Kind: "containerd fails", For: 5 * time.Minute},
					{Step: v1alpha1.StepRolledBack, Kind: "retry", Number: 40},
				}
			},
			"all 3 nodes run v1.34.4",
		},
		// The API server is silent from before the guard's limit until after it: the
		// guard stays armed until it answers.
		"the API server is silent at the guard's limit": {
			func(s *script) {
				s.ControlPlanes, s.Broken = 3, map[string]string{"cp1": imageNotReady}
				s.Faults = []fault{{At: 3 * time.Minute, Kind: "api down", For: 100 * time.Second}}
			},
			"cp1 is in step RolledBack",
		},
		"the upgrade is deleted while a node whose image is broken is cut off": {
			func(s *script) {
				s.Restart, s.Broken = true, map[string]string{"w1": imageNotReady}
				s.Faults = []fault{{At: 2 * time.Minute, Kind: "delete upgrade"}, {At: 2 * time.Minute, Kind: "partition", Who: "w1", For: 100 * time.Second}}
			},
			"aborted because no upgrade is requested any more; before that: RolledBack",
		},
		"a kubelet that dies for good while its node settles is rolled back, and no other node follows": {
			func(s *script) {
				s.Settle = 20
				s.Faults = []fault{{Step: v1alpha1.StepSettling, Kind: "kubelet dies", For: time.Hour}}
			},
			"cp1 is in step RolledBack",
		},
		"a kubelet that dies for good after the uncordon is rolled back, and no other node follows": {
			func(s *script) {
				s.Settle, s.MinReady = 20, 100
				s.Faults = []fault{{Step: v1alpha1.StepObserving, Kind: "kubelet dies", For: time.Hour}}
			},
			"cp1 is in step RolledBack",
		},
		"a node whose devices come late waits for them": {
			func(s *script) {
				s.Faults = []fault{{At: time.Second, Kind: "late part", Who: "w1", For: 6 * time.Minute}}
			},
			"w1 is in step Settling (NotWhole: example.com/gpu 0 of 8)",
		},
		"a node whose devices do not come fails": {
			func(s *script) { s.Faults = []fault{{At: time.Second, Kind: "late part", Who: "w1", For: time.Hour}} },
			"w1 is in step Failed (NotWhole: not back 5m0s after the settle time: example.com/gpu 0 of 8",
		},
		"a node that a taint keeps pods from for a while keeps its slot": {
			func(s *script) {
				s.Faults = []fault{{At: time.Second, Kind: "late taint", Who: "w1", For: 6 * time.Minute}}
			},
			"w1 is in step Observing (NotWhole: in service, and pods are kept away: taint example.com/not-ready:NoSchedule",
		},
		"a node that a taint keeps pods from for good fails": {
			func(s *script) { s.Faults = []fault{{At: time.Second, Kind: "late taint", Who: "w1", For: time.Hour}} },
			"w1 is in step Failed (NotWhole: pods are kept away 5m0s after the node went back into service: taint example.com/not-ready:NoSchedule",
		},
		"a node soft-reboots": {func(s *script) { s.SoftReboot = true }, "soft-reboots"},
		"a soft reboot to an image whose kubelet never gets Ready is rolled back by a reboot": {
			func(s *script) {
				s.SoftReboot, s.Broken = true, map[string]string{"w1": imageNotReady}
			},
			"w1 reboots: its guard returns it to v1.34.3",
		},
		"soft reboots that do not happen become reboots": {
			func(s *script) { s.SoftReboot, s.Soft = true, map[string]string{"w1": softNothing, "w2": softFormer} },
			"all 3 nodes run v1.34.4",
		},
		// Its soft reboot does not happen, and a member of etcd fails before it is to reboot instead.
		"a reboot that is asked for once more waits for etcd's majority": {
			func(s *script) {
				s.ControlPlanes, s.SoftReboot, s.Soft, s.Lasts = 3, true, map[string]string{"cp1": softNothing}, time.Hour
				s.Faults = []fault{{Kind: "power cut", Step: v1alpha1.StepRebooting, Other: "cp2", Number: 20, For: 8 * time.Minute}}
			},
			"all 5 nodes run v1.34.4",
		},
		// Its answer to the last check is from the future then, and a member fails before the second request.
		"etcd is asked before a reboot though the node's clock was set back": {
			func(s *script) {
				s.ControlPlanes, s.Lasts = 3, time.Hour
				s.Faults = []fault{
					{Kind: "request lost", Step: v1alpha1.StepLastCheck, Other: "reboot", For: 6 * time.Minute},
					{Kind: "clock", Step: v1alpha1.StepLastCheck, For: 72 * time.Second, Number: 8},
				}
			},
			"all 5 nodes run v1.34.4",
		},
		"a worker that is replaced after the upgrade follows it": {
			func(s *script) {
				s.Faults = []fault{{At: 10 * time.Minute, Kind: "replace node", Who: "w1", For: 30 * time.Second}}
			},
			"w1 is in step Idle (UpToDate: the node runs v1.34.4)",
		},
		"nodes with Kubernetes from packages are rebooted like the others": {
			func(s *script) { s.Reboot, s.ControlPlanes, s.Packages = true, 3, []string{"cp2", "w1"} },
			"w1 is in step Idle (UpToDate: the node was rebooted)",
		},
		"nothing is done on a worker that is not managed": {
			func(s *script) { s.Workers, s.Unmanaged = 2, []string{"w2"} }, "all 2 nodes run v1.34.4",
		},
		"a worker that the policy selects no more while it is drained is given back": {
			func(s *script) {
				s.Faults = []fault{{At: time.Minute, Kind: "switch node", Step: v1alpha1.StepDraining, Who: "w1"}}
			},
			"uninstall on w1 has ended (ok: true",
		},
		"a worker that the policy selects from now on follows": {
			func(s *script) {
				s.Workers, s.Unmanaged = 2, []string{"w2"}
				s.Faults = []fault{{At: 10 * time.Minute, Kind: "switch node", Who: "w2"}}
			},
			"w2 is in step Idle (UpToDate: the node runs v1.34.4)",
		},
		"a pool that leaves for a while is upgraded afterwards": {
			func(s *script) {
				s.Faults = []fault{{Kind: "leave pool", Step: v1alpha1.StepDraining, Who: "cp1", For: 2 * time.Minute}}
			},
			"cp1 is in step Idle (UpToDate: the node runs v1.34.4)",
		},
		// w1 is dead, and so the older upgrade waits for it while the newer one begins. It ends last, as w1 and cp1 have left.
		"late nodes do not follow an older upgrade that ends after a newer one": {
			func(s *script) {
				s.Budget = 2
				s.Faults = []fault{
					{At: 20 * time.Second, Kind: "power cut", Who: "w1", For: time.Hour},
					{At: time.Minute, Kind: "request patch"},
					{At: 150 * time.Second, Kind: "leave pool", Step: v1alpha1.StepKubeadm, For: 5 * time.Minute},
				}
			},
			"all 3 nodes run v1.34.5",
		},
		// The minor has ended without them, and the patch is not triggered yet.
		"an automatic patch stays one when nodes of the former minor come back": {
			func(s *script) {
				s.To, s.Automatic = "v1.35.2", true
				s.Faults = []fault{
					{At: 30 * time.Second, Kind: "publish"},
					{Kind: "leave pool", Step: v1alpha1.StepDraining, Who: "cp1", For: 5 * time.Minute},
					{Kind: "observe", Step: v1alpha1.StepVerifying, For: 270 * time.Second},
				}
			},
			"all 3 nodes run v1.35.3",
		},
		"nodes that are only observed for a while are given back, and upgraded afterwards": {
			func(s *script) {
				s.Faults = []fault{{At: 2 * time.Minute, Kind: "observe", For: 5 * time.Minute}}
			},
			"all 3 nodes run v1.34.4",
		},
		// It has no record of kubeadm any more, and did not run it again, for which the others
		// waited.
		"a control plane that was given back in the middle of an upgrade does not hold up the others": {
			func(s *script) {
				s.ControlPlanes = 3
				s.Faults = []fault{{Kind: "observe", Step: v1alpha1.StepSettling, Who: "cp1", For: 2 * time.Minute}}
			},
			"all 5 nodes run v1.34.4",
		},
		// The coordinator, which would withdraw its release, is down when it is abandoned.
		"a control plane that is abandoned before it has its slot does not begin": {
			func(s *script) {
				s.ControlPlanes, s.Workers = 3, 1
				s.Faults = []fault{
					{Kind: "stop coordinator", Step: v1alpha1.StepLocking, For: 5 * time.Second},
					{Kind: "abandon", Step: v1alpha1.StepLocking, Number: 1},
				}
			},
			"all 4 nodes run v1.34.4",
		},
		"a person's cordon of a node with our mark stays": {
			func(s *script) {
				s.Settle = 60
				s.Faults = []fault{{Kind: "recordon", Step: v1alpha1.StepSettling, Who: "w1", For: 20 * time.Second}}
			},
			"all 3 nodes run v1.34.4",
		},
		"a node whose clock is behind does not go on in an exclusion": {
			func(s *script) {
				s.Opens, s.Drain, s.Pods = -24*time.Hour, 900, 2
				s.Faults = []fault{
					{At: 100 * time.Second, Kind: "clock", Who: "w1", For: 5 * time.Minute, Number: 10},
					{At: time.Minute, Kind: "drain blocked", Who: "w1", For: 3 * time.Minute},
					{At: 110 * time.Second, Kind: "stop coordinator", Who: "coordinator", For: 5 * time.Minute},
					{At: 2 * time.Minute, Kind: "freeze", For: 5 * time.Minute},
				}
			},
			"all 3 nodes run v1.34.4",
		},
		"kubeadm whose record is not believed does not run again and again": {
			func(s *script) {
				s.Lasts = time.Hour
				s.Faults = []fault{{At: time.Second, Kind: "joined later", Who: "cp1", For: time.Hour}}
			},
			"cp1",
		},
		"a Reboot of a node whose image is gone does not begin": {
			func(s *script) {
				s.Reboot = true
				s.Faults = []fault{{At: 5 * time.Second, Kind: "image vanishes", Who: "w1"}}
			},
			"w1 is in step Idle",
		},
		"an upgrade to a version leaves a node with packages out": {
			func(s *script) { s.Packages = []string{"w1"} }, "all 2 nodes run v1.34.4",
		},
		"certificates are renewed by themselves, of one control plane after the other": {
			func(s *script) {
				minutes := func(n time.Duration) time.Duration { return n * time.Minute }
				s.ControlPlanes, s.Workers = 3, 1
				s.Certificates = certificatesOf{Life: minutes(30), Lived: []time.Duration{minutes(22), minutes(10), minutes(11)}, Renews: minutes(10)}
			},
			"every control plane that was selected has new certificates",
		},
		"certificates that are half renewed are put back by an agent whose node has lost its guard": {
			func(s *script) {
				s.ControlPlanes, s.Workers, s.Certificates = 3, 1, certificatesOf{Life: time.Hour}
				s.Faults = []fault{
					{At: time.Second, Kind: "meet renewal", Other: "power cut", Number: 4, For: 30 * time.Second}, {At: 2 * time.Second, Kind: "request renewal", Who: "cp1"},
				}
			},
			"put-back on cp1 has ended (ok: true )",
		},
		// Nothing but the host's files says what its agent is to do, and a coordinator would take it for a node in service.
		"a control plane that has lost its order keeps its slot until its certificates are back": {
			func(s *script) {
				s.ControlPlanes, s.Workers, s.Certificates = 3, 1, certificatesOf{Life: time.Hour}
				s.Faults = []fault{
					{At: time.Second, Kind: "meet renewal", Other: "power cut", Number: 4, For: 30 * time.Second}, {At: time.Second, Kind: "meet renewal", Other: "delete nodeupgrade", Number: 3},
					{At: 2 * time.Second, Kind: "request renewal", Who: "cp1"},
				}
			},
			"put-back on cp1 has ended (ok: true )",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := plain()
			test.change(&s)
			result := simulate(t, s, true)
			if result.failure != "" || !strings.Contains(result.story+result.status, test.want) {
				t.Errorf("%s\nwant %q in\n%s\n%s", result.failure, test.want, result.story, result.status)
			}
		})
	}
}
