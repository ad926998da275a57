package main

import (
	"testing"

	"herd/tools/lab/lab03"
)

func TestLab(t *testing.T) { lab03.Lab(functions).Test(t) }
