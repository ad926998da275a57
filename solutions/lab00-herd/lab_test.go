package main

import (
	"testing"

	"herd/tools/lab/lab00"
)

func TestLab(t *testing.T) { lab00.Lab(functions).Test(t) }
