package main

import (
	"testing"

	"herd/tools/lab/lab06"
)

func TestLab(t *testing.T) { lab06.Lab(functions).Test(t) }
