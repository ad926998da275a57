package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// record runs the commands of the named runs again, of all runs if there are
// no names, and keeps what they print. With a command the run is new, or gets
// that command.
func record(root string, names []string, command string) error {
	if len(names) == 0 {
		for _, pattern := range []string{"*.json", "*.txt"} {
			found, _ := filepath.Glob(filepath.Join(root, runsDir, pattern))
			for _, name := range found {
				names = append(names, filepath.Base(name))
			}
		}
		slices.Sort(names)
	}
	for _, name := range names {
		if err := recordRun(root, name, command); err != nil {
			return err
		}
	}
	return nil
}

func recordRun(root, name, command string) error {
	r := &run{name: name, command: command}
	if ext := filepath.Ext(name); filepath.Base(name) != name || ext != ".json" && ext != ".txt" {
		return fmt.Errorf("%s: a run is called NAME.json or NAME.txt", name)
	}
	if command == "" {
		old, err := loadRun(root, name)
		if err != nil {
			return err
		}
		r.command = old.command
	}
	fmt.Fprintf(os.Stderr, "%s: %s\n", name, r.command)
	cmd := exec.Command("bash", "-c", r.command)
	cmd.Dir = root
	cmd.Stderr = os.Stderr
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %s: %w; the run is as it was", name, r.command, err)
	}
	r.output = out.String()
	text, err := r.format()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, runsDir, name), text, 0o644)
}
