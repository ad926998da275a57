package main

import (
	"testing"

	"herd/tools/lab/lab04"
)

func TestLab(t *testing.T) { lab04.Lab(functions).Test(t) }
