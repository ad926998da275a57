package sys

// Data returns the 64 bits that the registration gave the kernel to hand
// back.
func (ev *EpollEvent) Data() uint64 {
	return uint64(ev.data[1])<<32 | uint64(ev.data[0])
}

// MakeEpollEvent returns the registration of the given EPOLL bits with data.
func MakeEpollEvent(events uint32, data uint64) EpollEvent {
	return EpollEvent{Events: events, data: [2]uint32{uint32(data), uint32(data >> 32)}}
}
