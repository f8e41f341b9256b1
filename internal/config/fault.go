package config

import (
	"slices"
	"strings"
)

// Fault is an invalid setting.
type Fault struct {
	Setting string // name; empty for a fault of the whole file
	Source  string // such as "flag --addr", "variable SLUICE_ADDR" or "sluice.yaml:3"; empty for a default
	Problem string
}

// Error returns the setting, the problem and the source.
func (f Fault) Error() string {
	text := f.Problem
	if f.Setting != "" {
		text = f.Setting + ": " + text
	}
	if f.Source != "" {
		text += " (" + f.Source + ")"
	}
	return text
}

// Faults lists all invalid settings, so that the user can correct them together.
type Faults []Fault

// Error returns one line for each fault.
func (fs Faults) Error() string {
	if len(fs) == 1 {
		return "invalid setting: " + fs[0].Error()
	}
	lines := []string{"invalid settings:"}
	for _, f := range fs {
		lines = append(lines, "  "+f.Error())
	}
	return strings.Join(lines, "\n")
}

func (fs Faults) has(name string) bool {
	return slices.ContainsFunc(fs, func(f Fault) bool { return f.Setting == name })
}

func (fs Faults) orNil() error {
	if len(fs) == 0 {
		return nil
	}
	return fs
}
