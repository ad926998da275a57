package main

import (
	"testing"

	"herd/tools/lab/lab02"
)

func TestLab(t *testing.T) { lab02.Lab(functions).Test(t) }
