package cli

import (
	"context"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/sluice-rag/sluice/client/display"
)

// The names of the displays that do not depend on the output.
const (
	displayPlain = "plain"
	displayJSON  = "json"
)

// newDisplay returns the display of a name. On an output that is not a capable terminal, a rich display becomes plain. interrupt is
// called if the user stops the display.
func newDisplay(e *env, name string, stream bool, interrupt context.CancelFunc) display.Display {
	switch {
	case name == displayJSON:
		return display.NewJSON(e.Out, stream)
	case name == displayPlain || !display.Capable(e.Out, os.Environ()):
		return display.NewPlain(e.Out, e.Err, display.PlainOptions{ColourOut: coloured(e.Out), ColourSteps: coloured(e.Err)})
	}
	o := display.RichOptions{Interrupt: interrupt}
	if keyboard, ok := e.In.(*os.File); ok && isTerminal(keyboard) {
		o.In = keyboard
	}
	return display.NewRich(e.Out, o)
}

// width returns the width of a terminal in columns. Of any other output, it is that of a usual line.
func width(out io.Writer) int {
	if f, ok := out.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return 120
}
