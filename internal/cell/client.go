package cell

import (
	"bufio"
	"os"
	"runtime"
	"strconv"
	"strings"

	"cellbench/internal/bench"
)

// rssUnit is the unit of Rusage.Maxrss in bytes: kilobytes on Linux, bytes on
// Darwin (getrusage(2)).
var rssUnit = map[string]int64{"linux": 1024}[runtime.GOOS] + map[string]int64{"darwin": 1}[runtime.GOOS]

// throttling is what the CPU controller of this process's cgroup counted.
type throttling struct {
	known              bool
	periods, throttled int64
}

// readThrottling reads cpu.stat of cgroup v2, or of v1 where it is usually
// mounted. Without a quota there are no periods.
func readThrottling() throttling {
	for _, path := range []string{"/sys/fs/cgroup/cpu.stat", "/sys/fs/cgroup/cpu/cpu.stat"} {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		t := throttling{}
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				continue
			}
			switch name {
			case "nr_periods":
				t.periods, t.known = n, true
			case "nr_throttled":
				t.throttled = n
			}
		}
		if t.known {
			return t
		}
	}
	return throttling{}
}

// share returns the share of periods between two readings in which the process
// was held back, nil if no quota is set.
func (t throttling) share(before throttling) *float64 {
	periods := t.periods - before.periods
	if !t.known || periods <= 0 {
		return nil
	}
	s := float64(t.throttled-before.throttled) / float64(periods)
	return &s
}

// hostOf describes this machine.
func hostOf() *bench.Host {
	h := &bench.Host{
		OS: runtime.GOOS, Arch: runtime.GOARCH, Kernel: kernel(), CPUModel: cpuModel(), CPUs: runtime.NumCPU(),
	}
	h.MemoryBytes = memory()
	for _, mark := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(mark); err == nil {
			h.Container = true
		}
	}
	if os.Getenv("KUBERNETES_SERVICE_HOST") != "" || os.Getenv("ECS_CONTAINER_METADATA_URI_V4") != "" {
		h.Container = true
	}
	return h
}

// memory returns the machine's memory, nil if it is not known (proc(5)).
func memory() *int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "MemTotal:" {
			continue
		}
		if kb, err := strconv.ParseInt(f[1], 10, 64); err == nil {
			b := kb * 1024
			return &b
		}
	}
	return nil
}

// cpuLimit returns how many CPUs this process may use: the quota of its cgroup
// (v2 cpu.max, or v1) if that is less than the CPUs it may run on.
func cpuLimit() float64 {
	n := float64(runtime.NumCPU())
	quota, period := readQuota()
	if quota > 0 && period > 0 {
		n = min(n, quota/period)
	}
	return n
}

func readQuota() (quota, period float64) {
	if text, err := os.ReadFile("/sys/fs/cgroup/cpu.max"); err == nil {
		if f := strings.Fields(string(text)); len(f) == 2 {
			quota, _ = strconv.ParseFloat(f[0], 64) // "max" reads as 0
			period, _ = strconv.ParseFloat(f[1], 64)
		}
		return quota, period
	}
	read := func(path string) float64 {
		text, err := os.ReadFile(path)
		if err != nil {
			return 0
		}
		v, _ := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
		return v
	}
	return read("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), read("/sys/fs/cgroup/cpu/cpu.cfs_period_us")
}

func kernel() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	for s := bufio.NewScanner(f); s.Scan(); {
		if name, value, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
