package measure

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Machine says where figures were measured.
type Machine struct {
	OS     string `json:"os"`
	Kernel string `json:"kernel"` // uname -r
	Arch   string `json:"arch"`
	CPUs   int    `json:"cpus"`
	Go     string `json:"go"`
}

// ThisMachine describes the machine this runs on.
func ThisMachine() Machine {
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return Machine{
		OS:     runtime.GOOS,
		Kernel: strings.TrimSpace(string(release)),
		Arch:   runtime.GOARCH,
		CPUs:   runtime.NumCPU(),
		Go:     runtime.Version(),
	}
}

// String prints the machine in a line.
func (m Machine) String() string {
	return fmt.Sprintf("%s %s on %s, %d CPUs, %s", m.OS, m.Kernel, m.Arch, m.CPUs, m.Go)
}
