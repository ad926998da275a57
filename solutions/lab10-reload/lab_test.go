package main

import (
	"testing"

	"herd/tools/lab/lab10"
)

func TestLab(t *testing.T) { lab10.Lab(functions).Test(t) }
