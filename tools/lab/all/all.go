// Package all lists the labs.
package all

import (
	"herd/tools/lab"
	"herd/tools/lab/lab00"
	"herd/tools/lab/lab01"
	"herd/tools/lab/lab02"
	"herd/tools/lab/lab03"
	"herd/tools/lab/lab04"
	"herd/tools/lab/lab05"
	"herd/tools/lab/lab06"
	"herd/tools/lab/lab07"
	"herd/tools/lab/lab08"
	"herd/tools/lab/lab09"
	"herd/tools/lab/lab10"
)

// Labs returns every lab, in order, without any code in it: for what a lab is,
// not for running its checks.
func Labs() []*lab.Lab {
	return []*lab.Lab{
		lab00.Lab(lab00.Functions{}),
		lab01.Lab(lab01.Functions{}),
		lab02.Lab(lab02.Functions{}),
		lab03.Lab(lab03.Functions{}),
		lab04.Lab(lab04.Functions{}),
		lab05.Lab(lab05.Functions{}),
		lab06.Lab(lab06.Functions{}),
		lab07.Lab(lab07.Functions{}),
		lab08.Lab(lab08.Functions{}),
		lab09.Lab(lab09.Functions{}),
		lab10.Lab(lab10.Functions{}),
	}
}
