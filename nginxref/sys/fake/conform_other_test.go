//go:build !linux

package fake_test

import "testing"

func (s script) onLinux(t *testing.T) { t.Skip("this is not Linux: the model alone is tested") }
