package hostload

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestReadings(t *testing.T) {
	t.Parallel()
	const meminfo = "MemTotal: 8000000 kB\nMemFree: 100 kB\nMemAvailable: 2048000 kB\n"
	const psi = "some avg10=91.50 avg60=10.00 avg300=1.00 total=5\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
	for name, tc := range map[string]struct {
		files     map[string]string
		want      Load
		saturated bool
	}{
		"a busy host": {
			map[string]string{"proc/meminfo": meminfo, "proc/loadavg": "3.00 1.00 1.00 1/2 3\n", "proc/pressure/cpu": psi},
			Load{FreeMemory: 2000, PerCPU: 1.5, Pressure: 91.5},
			true,
		},
		"pressure counts, not load": {
			map[string]string{"proc/loadavg": "40.00 1.00 1.00 1/2 3\n", "proc/pressure/cpu": "some avg10=89.99 avg60=0 avg300=0 total=0\n"},
			Load{FreeMemory: Unknown, PerCPU: 20, Pressure: 89.99},
			false,
		},
		"load counts where there is no pressure": {
			map[string]string{"proc/loadavg": "8.00 1.00 1.00 1/2 3\n"}, Load{FreeMemory: Unknown, PerCPU: 4, Pressure: Unknown}, true,
		},
		"a container's limit": {
			map[string]string{
				"proc/meminfo": meminfo, "sys/fs/cgroup/memory.max": "1073741824\n", "sys/fs/cgroup/memory.current": "1048576000\n",
				"sys/fs/cgroup/memory.stat": "anon 5\ninactive_file 104857600\nactive_file 9\n",
			},
			Load{FreeMemory: 124, PerCPU: Unknown, Pressure: Unknown},
			false,
		},
		"a container without a limit": {
			map[string]string{"proc/meminfo": meminfo, "sys/fs/cgroup/memory.max": "max\n", "sys/fs/cgroup/memory.current": "5\n"},
			Load{FreeMemory: 2000, PerCPU: Unknown, Pressure: Unknown},
			false,
		},
		"nothing can be read": {nil, Load{FreeMemory: Unknown, PerCPU: Unknown, Pressure: Unknown}, false},
		"nonsense": {
			map[string]string{"proc/meminfo": "MemAvailable: many kB", "proc/loadavg": "NaN 1", "proc/pressure/cpu": "some avg10=+Inf x"},
			Load{FreeMemory: Unknown, PerCPU: Unknown, Pressure: Unknown},
			false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for file, text := range tc.files {
				path := filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got := readAt(root, 2)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.Saturated() != tc.saturated {
				t.Errorf("saturated: %t", got.Saturated())
			}
		})
	}
}

func TestThisHostCanBeRead(t *testing.T) {
	t.Parallel()
	if l := Read(); l.FreeMemory <= 0 || l.PerCPU == Unknown {
		t.Errorf("%+v", l)
	}
}
