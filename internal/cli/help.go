package cli

import (
	"fmt"

	"github.com/alecthomas/kong"
)

var helpOptions = kong.HelpOptions{Compact: true, ValueFormatter: kong.DefaultHelpValueFormatter}

// helpAllFlag prints the help of a command with all of its settings, by groups.
type helpAllFlag bool

// IgnoreDefault implements the interface of kong for flags that act when they are given.
func (helpAllFlag) IgnoreDefault() {}

// BeforeReset implements the hook of kong that runs before the command line is checked, as the one of --help does.
func (helpAllFlag) BeforeReset(ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(helpOptions, ctx); err != nil {
		return err
	}
	ctx.Kong.Exit(0)
	return nil
}

// shortHelp prints the help of a command without the settings that are in a group: those of servers and engines would hide the flags that most users need.
func shortHelp(o kong.HelpOptions, ctx *kong.Context) error {
	hidden := 0
	for _, f := range ctx.Flags() {
		if f.Group != nil && !f.Hidden {
			f.Hidden = true
			hidden++
		}
	}
	if err := kong.DefaultHelpPrinter(o, ctx); err != nil {
		return err
	}
	if hidden == 0 {
		return nil
	}
	name := ctx.Model.Name
	if command := ctx.Selected(); command != nil {
		name = command.FullPath()
	}
	_, err := fmt.Fprintf(ctx.Stdout, "\n%d more settings: see %s --help-all, or docs/configuration.md.\n", hidden, name)
	return err
}
