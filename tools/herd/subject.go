package main

import (
	"fmt"
	"slices"
	"strings"

	"herd/tools/measure"
)

// subjects are what -subject takes.
const subjects = "nginx, nginx=PATH, or a lab's directory such as labs/lab03-acceptmutex or solutions/lab03-acceptmutex"

// chooseSubject resolves what is measured beside nginxref.
func (opt *options) chooseSubject(subject string) (err error) {
	switch program, path, _ := strings.Cut(subject, "="); {
	case subject == "nginxref":
	case subject == "nginx":
		opt.nginx = "nginx"
	case program == "nginx" && path != "":
		opt.nginx = path
	case strings.Contains(subject, "/"):
		opt.lab, err = findLab(subject)
	default:
		return fmt.Errorf("-subject %s: give nginxref, %s", subject, subjects)
	}
	return err
}

// beside reports whether anything is measured beside nginxref.
func (opt *options) beside() bool { return opt.nginx != "" || opt.lab != nil }

// available returns the fixes that the subject beside nginxref has; all, if
// there is none.
func (opt *options) available() []*measure.Fix {
	switch {
	case opt.nginx != "":
		return measure.NginxFixes()
	case opt.lab != nil:
		return opt.lab.fixes
	}
	return measure.Fixes
}

// has reports whether there is a subject beside nginxref that has fix.
func (opt *options) has(fix *measure.Fix) bool {
	return opt.beside() && slices.Contains(opt.available(), fix)
}

// chooseFixes resolves the names in list; empty are all that are available.
func (opt *options) chooseFixes(list string) error {
	if list == "" {
		opt.fixes = opt.available()
		return nil
	}
	for _, name := range strings.Split(list, ",") {
		f, err := measure.FixByName(strings.TrimSpace(name))
		if err != nil {
			return err
		}
		opt.fixes = append(opt.fixes, f)
	}
	if opt.beside() && !slices.ContainsFunc(opt.fixes, opt.has) {
		var names []string
		for _, f := range opt.available() {
			names = append(names, f.Name)
		}
		return fmt.Errorf("-fix %s: the subject has no such fix; it has %s", list, strings.Join(names, ", "))
	}
	return nil
}

// confs are what the workers of each row are told, in the order of the table:
// the subject's row follows nginxref's.
func (opt *options) confs(workers int) (list []measure.Conf) {
	for _, fix := range opt.fixes {
		conf := measure.Conf{Fix: fix.Name, Workers: workers, DelayMsec: int(opt.delay.Milliseconds())}
		list = append(list, conf)
		if !opt.has(fix) {
			continue
		}
		conf.Nginx = opt.nginx
		if opt.lab != nil {
			conf.Lab = opt.lab.program
		}
		list = append(list, conf)
	}
	return list
}
