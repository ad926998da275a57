package main

import (
	"testing"

	"herd/tools/lab/lab07"
)

func TestLab(t *testing.T) { lab07.Lab(functions).Test(t) }
