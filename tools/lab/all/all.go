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

// Experiments returns the measurement of each lab, in order, without any code
// in it: for what can be measured, not for doing so.
func Experiments() []*lab.Experiments {
	return []*lab.Experiments{
		lab00.Experiments("labs/lab00-herd", lab00.Functions{}),
		lab01.Experiments("labs/lab01-shmtx", lab01.Functions{}),
		lab02.Experiments("labs/lab02-filelock", lab02.Functions{}),
		lab03.Experiments("labs/lab03-acceptmutex", lab03.Functions{}),
		lab04.Experiments("labs/lab04-posted", lab04.Functions{}),
		lab05.Experiments("labs/lab05-balance", lab05.Functions{}),
		lab06.Experiments("labs/lab06-exclusive", lab06.Functions{}),
		lab07.Experiments("labs/lab07-reuseport", lab07.Functions{}),
		lab08.Experiments("labs/lab08-fdpass", lab08.Functions{}),
		lab09.Experiments("labs/lab09-master", lab09.Functions{}),
		lab10.Experiments("labs/lab10-reload", lab10.Functions{}),
	}
}

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
