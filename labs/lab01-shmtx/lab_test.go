package main

import (
	"testing"

	"herd/tools/lab/lab01"
)

func TestLab(t *testing.T) { lab01.Lab(functions).Test(t) }
