package main

import (
	"testing"

	"herd/tools/lab/lab05"
)

func TestLab(t *testing.T) { lab05.Lab(functions).Test(t) }
