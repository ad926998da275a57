package main

import (
	"testing"

	"herd/tools/lab/lab09"
)

func TestLab(t *testing.T) { lab09.Lab(functions).Test(t) }
