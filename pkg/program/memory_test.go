package program

import (
	"testing"
	"testing/fstest"
)

func TestMemoryLimit(t *testing.T) {
	for name, row := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"a container":                      {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20},
		"a container without a limit":      {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 0},
		"the host":                         {map[string]string{"proc/self/cgroup": "0::/user.slice\n"}, 0},
		"a unit of systemd":                {map[string]string{"proc/self/cgroup": "0::/system.slice/work.service\n", "sys/fs/cgroup/system.slice/work.service/memory.max": "1000"}, 1000},
		"a slice that has less":            {map[string]string{"proc/self/cgroup": "0::/a.slice/b/c\n", "sys/fs/cgroup/a.slice/b/c/memory.max": "1000", "sys/fs/cgroup/a.slice/memory.max": "600"}, 600},
		"a group outside of the container": {map[string]string{"proc/self/cgroup": "0::/../x\n", "sys/fs/cgroup/memory.max": "700"}, 700},
		"version 1":                        {map[string]string{"proc/self/cgroup": "4:memory:/kubepods\n", "sys/fs/cgroup/memory.max": "5"}, 0},
		"no such files":                    {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			root := fstest.MapFS{}
			for path, text := range row.files {
				root[path] = &fstest.MapFile{Data: []byte(text)}
			}
			if got := memoryLimit(root); got != row.want {
				t.Errorf("got %d, want %d", got, row.want)
			}
		})
	}
}
