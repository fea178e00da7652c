package facts

import "testing"

func TestKubeletAmong(t *testing.T) {
	const moved, unit, pod = "0::/systemd/system.slice\n", "0::/system.slice/kubelet.service\n", "0::/kubepods.slice/kubepods-pod1.slice/cri-1.scope\n"
	one := func(id, parent int, name, cgroup string) process {
		return process{id: id, parent: parent, name: name, cgroup: cgroup}
	}
	for name, test := range map[string]struct {
		processes []process
		main      int
		want      int
	}{
		"in its unit's group":       {[]process{one(1, 0, "systemd", ""), one(7, 1, "kubelet", unit)}, 7, 7},
		"moved elsewhere":           {[]process{one(7, 1, "kubelet", moved), one(9, 1, "kubelet", pod)}, 7, 7},
		"below a script":            {[]process{one(7, 1, "sh", unit), one(8, 7, "kubelet", moved)}, 7, 8},
		"further below":             {[]process{one(7, 1, "sh", unit), one(8, 7, "sleep", unit), one(9, 7, "nice", unit), one(10, 9, "kubelet", moved)}, 7, 10},
		"the nearest":               {[]process{one(7, 1, "sh", unit), one(8, 9, "kubelet", unit), one(9, 7, "kubelet", unit)}, 7, 9},
		"another name":              {[]process{one(7, 1, "hyperkube", unit), one(9, 1, "kubelet", pod)}, 7, 7},
		"no systemd, its group":     {[]process{one(9, 1, "kubelet", pod), one(10, 1, "sh", unit), one(11, 10, "kubelet", unit)}, 0, 11},
		"no systemd, moved":         {[]process{one(7, 1, "kubelet", moved)}, 0, 0},
		"a main process that ended": {[]process{one(9, 1, "kubelet", pod)}, 7, 0},
		"only a pod's":              {[]process{one(9, 1, "kubelet", pod)}, 0, 0},
		"a loop of parents":         {[]process{one(7, 8, "sh", unit), one(8, 8, "x", unit)}, 7, 7},
	} {
		got := 0
		if p := kubeletAmong(test.processes, test.main); p != nil {
			got = p.id
		}
		if got != test.want {
			t.Errorf("%s: process %d, want %d", name, got, test.want)
		}
	}
}

func TestProcessesOf(t *testing.T) {
	l := tree{
		"/proc/10/cmdline": "/usr/bin/kubelet\x00--v=2\x00\x00", "/proc/10/stat": "10 (a) b) (c) S 7 10 10 0", "/proc/10/cgroup": "0::/x\n",
		"/proc/7/cmdline": "sh\x00", "/proc/7/stat": "7 (sh",
		"/proc/8/cmdline": "", "/proc/self/cmdline": "x\x00",
	}.on(t)
	all := processesOf(l)
	if len(all) != 2 || all[0].id != 7 || all[0].parent != 0 || all[1].id != 10 || all[1].parent != 7 || all[1].name != "kubelet" || all[1].args[0] != "--v=2" || all[1].cgroup != "0::/x\n" {
		t.Errorf("%+v", all)
	}
}
