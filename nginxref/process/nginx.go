package process

import "herd/nginxref/event"

// getCPUAffinity returns the processors of worker n, or nil if none are
// configured. Mirrors ngx_get_cpu_affinity.
func getCPUAffinity(cycle *event.Cycle, n int) *event.CPUSet {
	ccf := &cycle.Conf

	if len(ccf.CPUAffinity) == 0 {
		return nil
	}

	last := &ccf.CPUAffinity[len(ccf.CPUAffinity)-1]

	if ccf.CPUAffinityAuto {
		cpu, ok := nthCPU(last, n)
		if !ok {
			return nil
		}

		result := &event.CPUSet{}
		result.Set(cpu)

		return result
	}

	if len(ccf.CPUAffinity) > n {
		return &ccf.CPUAffinity[n]
	}

	return last
}

// nthCPU returns the n-th processor in mask, counting round and round; ok is
// false if the mask is empty.
//
// DIVERGES: its own function; in nginx it is part of ngx_get_cpu_affinity.
func nthCPU(mask *event.CPUSet, n int) (cpu int, ok bool) {
	size := len(mask) * 64
	j := n

	for i := 0; ; i++ {
		if mask.IsSet(i % size) {
			if j == 0 {
				return i % size, true
			}
			j--
		}

		if i == size && j == n {
			return 0, false
		}
	}
}
