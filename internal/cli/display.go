package cli

import (
	"context"
	"os"

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
