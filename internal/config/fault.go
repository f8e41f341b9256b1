package config

import (
	"slices"
	"strings"
)

// Fault is one thing that is wrong with the settings.
type Fault struct {
	Setting string // its name; empty for a fault of the file as a whole
	Given   string // how it was given: "flag --addr", "variable SLUICE_ADDR", "sluice.yaml:3"; empty for a default
	Problem string
}

// Error names the setting, the problem and how the setting was given.
func (f Fault) Error() string {
	text := f.Problem
	if f.Setting != "" {
		text = f.Setting + ": " + text
	}
	if f.Given != "" {
		text += " (" + f.Given + ")"
	}
	return text
}

// Faults is everything that is wrong, so that it can be put right in one go.
type Faults []Fault

// Error gives one line for each fault.
func (fs Faults) Error() string {
	if len(fs) == 1 {
		return "wrong setting: " + fs[0].Error()
	}
	lines := []string{"wrong settings:"}
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
