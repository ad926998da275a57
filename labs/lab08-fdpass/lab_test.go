package main

import (
	"testing"

	"herd/tools/lab/lab08"
)

func TestLab(t *testing.T) { lab08.Lab(functions).Test(t) }
