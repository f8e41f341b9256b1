package cli

import (
	"context"
	"os"

	"github.com/sluice-rag/sluice/client/display"
)

// The displays, besides the one that is chosen by what the output is.
const (
	displayPlain = "plain"
	displayJSON  = "json"
)

// newDisplay makes the display of a name. A rich one on an output that cannot show it is plain; interrupt is called when a person has had enough
// of it.
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

// shorten cuts s at n characters and puts it on one line.
func shorten(s string, n int) string {
	r := []rune(display.Line(s))
	if len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return string(r)
}
