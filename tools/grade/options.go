package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"herd/tools/grade/jail"
	"herd/tools/grade/judge"
	"herd/tools/grade/result"
	"herd/tools/lab"
	"herd/tools/lab/all"
)

// options are the command line of grading.
type options struct {
	root  string
	lab   *lab.Lab // nil: the directory's name says it
	all   bool
	dirs  []string
	user  *jail.User
	total time.Duration
	limit jail.Limits
	files []file // to write the result to
	zero  bool   // exit with 0 if grading went well
	pack  string
	out   string
}

// file is one that the result is written to.
type file struct {
	path  string // "-" is standard output
	write result.Writer
}

// maxFileSize is how large a file may become that a check writes, in bytes.
const maxFileSize = 64 << 20

// parse reads the command line; the error says what to change.
func parse(args []string, stdout io.Writer) (*options, error) {
	opt := &options{limit: jail.Limits{File: maxFileSize}}
	fs := newFlags("grade", usage)
	labName := fs.String("lab", "", "`lab` that the directories hold, as 3, lab03 or lab03-acceptmutex, if their names do not say it")
	userName := fs.String("user", "", "run the students' code as this `user`, a name or a number (default nobody, if run by root; only root can)")
	memory := fs.Int64("memory", 512, "`MB` of memory for each check")
	forms := map[string]*string{}
	for _, form := range []string{"json", "junit", "gradescope", "classroom50"} {
		forms[form] = fs.String(form, "", "write the result to `file` in this form (-: to standard output, and nothing else)")
	}
	fs.BoolVar(&opt.all, "all", false, "grade every lab that is in the directory")
	fs.DurationVar(&opt.limit.Time, "time", 30*time.Second, "wall-clock time for each check")
	fs.DurationVar(&opt.total, "total", 0, "wall-clock time for everything; 0 is no limit")
	fs.IntVar(&opt.limit.Processes, "processes", 64, "`processes` for each check")
	fs.StringVar(&opt.pack, "pack", "", "write an autograder for `gradescope` to the file that -o names")
	fs.StringVar(&opt.out, "o", "", "`file` that -pack writes")
	if err := parseFlags(fs, args, stdout); err != nil {
		return nil, err
	}
	opt.limit.Memory = *memory << 20
	opt.dirs = fs.Args()
	if err := opt.resolve(*labName, *userName, forms); err != nil {
		return nil, err
	}
	return opt, opt.check(*memory)
}

// resolve finds what the names mean.
func (opt *options) resolve(labName, userName string, forms map[string]*string) (err error) {
	if opt.root, err = courseRoot(); err != nil {
		return err
	}
	if labName != "" {
		if opt.lab, err = findLab(labName); err != nil {
			return usageError{err}
		}
	}
	if err := opt.chooseUser(userName); err != nil {
		return usageError{fmt.Errorf("-user %s: %w", userName, err)}
	}
	return opt.addFiles(forms)
}

// chooseUser finds who the students' code runs as. It is never root, unless
// that is asked for: root's processes cannot be limited.
func (opt *options) chooseUser(name string) (err error) {
	switch root := os.Getuid() == 0; {
	case root && name == "":
		name = "nobody"
	case name == "":
		return nil
	case !root:
		return errors.New("only root can run code as another user")
	}
	opt.user, err = jail.LookupUser(name)
	return err
}

// addFiles adds the files that the result is written to.
func (opt *options) addFiles(forms map[string]*string) error {
	if path := *forms["classroom50"]; path != "" {
		write, err := result.Classroom50(os.Getenv)
		if err != nil {
			return usageError{err}
		}
		opt.files = append(opt.files, file{path, write})
		opt.zero = true
	}
	if path := *forms["gradescope"]; path != "" {
		opt.files = append(opt.files, file{path, result.Gradescope})
		opt.zero = true
	}
	if path := *forms["json"]; path != "" {
		opt.files = append(opt.files, file{path, result.JSON})
	}
	if path := *forms["junit"]; path != "" {
		opt.files = append(opt.files, file{path, result.JUnit})
	}
	return opt.checkFiles()
}

// checkFiles says before anything is graded what could not be written.
func (opt *options) checkFiles() error {
	seen := map[string]bool{}
	for _, f := range opt.files {
		if seen[f.path] {
			return usageError{fmt.Errorf("two results go to %s; give each its own file", f.path)}
		}
		seen[f.path] = true
		if f.path == "-" {
			continue
		}
		if err := result.CheckFile(f.path); err != nil {
			return usageError{err}
		}
	}
	return nil
}

// check validates the command line.
func (opt *options) check(memory int64) error {
	switch {
	case opt.pack != "" && opt.pack != "gradescope":
		return usageError{fmt.Errorf("-pack %s: give gradescope", opt.pack)}
	case opt.pack != "" && opt.out == "":
		return usageError{errors.New("-pack needs -o FILE.zip")}
	case opt.pack == "" && opt.out != "":
		return usageError{errors.New("-o goes with -pack; results are written with -json, -junit, -gradescope or -classroom50")}
	case opt.pack != "" && (len(opt.dirs) > 0 || opt.all):
		return usageError{errors.New("-pack takes -lab and -o alone")}
	case opt.limit.Time <= 0 || opt.total < 0 || opt.limit.Processes < 1 || memory < 1:
		return usageError{errors.New("limits are positive")}
	case opt.all && opt.lab != nil:
		return usageError{errors.New("-all and -lab exclude each other")}
	case opt.all && len(opt.dirs) == 0:
		opt.dirs = []string{"."}
	case opt.pack == "" && len(opt.dirs) == 0:
		return usageError{errors.New("which lab? Give a directory, such as labs/lab03-acceptmutex, or -all; see -h")}
	}
	for _, dir := range opt.dirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return usageError{fmt.Errorf("%s is not a directory", dir)}
		}
	}
	return nil
}

// findLab returns the lab with the name, as lab03-acceptmutex or lab03, or the
// number.
func findLab(name string) (*lab.Lab, error) {
	if n, err := strconv.Atoi(name); err == nil {
		name = fmt.Sprintf("lab%02d", n)
	}
	for _, l := range all.Labs() {
		if name == l.Name || name == fmt.Sprintf("lab%02d", l.Number) {
			return l, nil
		}
	}
	var names []string
	for _, l := range all.Labs() {
		names = append(names, l.Name)
	}
	return nil, fmt.Errorf("no lab %q; there are %s", name, strings.Join(names, ", "))
}

// submission is a lab and where it was handed in.
type submission struct {
	lab *lab.Lab
	dir string
}

// submissions returns what is to be graded.
func (opt *options) submissions() (list []submission, err error) {
	for _, dir := range opt.dirs {
		labs := []*lab.Lab{opt.lab}
		if opt.all {
			labs = slices.DeleteFunc(all.Labs(), func(l *lab.Lab) bool { return !judge.Holds(dir, l) })
		} else if opt.lab == nil {
			if labs[0], err = labOf(dir); err != nil {
				return nil, usageError{err}
			}
		}
		if len(labs) == 0 {
			return nil, usageError{fmt.Errorf("there is no file of any lab in %s", dir)}
		}
		for _, l := range labs {
			list = append(list, submission{l, dir})
		}
	}
	return list, nil
}

// labOf returns the lab that the directory's name says.
func labOf(dir string) (*lab.Lab, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if base := filepath.Base(path); strings.HasPrefix(base, "lab") {
		return findLab(base)
	}
	return nil, fmt.Errorf("which lab is in %s? Say it with -lab, or grade all that are in it with -all", dir)
}
