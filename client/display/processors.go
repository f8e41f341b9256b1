package display

import (
	"slices"

	"github.com/sluice-rag/sluice/client"
)

// steps tells of calls and stages, by their places in the snapshot: of those of its kinds.
type steps struct{ kinds []client.Kind }

// Process implements [Processor].
func (p steps) Process(was, now *client.Snapshot, d Display) error {
	for i, s := range now.Steps {
		if !slices.Contains(p.kinds, s.Kind) || i < len(was.Steps) && was.Steps[i] == s {
			continue
		}
		if err := d.Step(now, i); err != nil {
			return err
		}
	}
	return nil
}

// reasoning tells of what models think.
type reasoning struct{}

// Process implements [Processor].
func (reasoning) Process(was, now *client.Snapshot, d Display) error {
	if was.Reasoning == now.Reasoning {
		return nil
	}
	return d.Reasoning(now)
}

// message tells of the answer's text and citations.
type message struct{}

// Process implements [Processor].
func (message) Process(was, now *client.Snapshot, d Display) error {
	if was.Text == now.Text && was.Answer == now.Answer && len(was.Citations) == len(now.Citations) {
		return nil
	}
	if now.Text == "" && len(now.Citations) == 0 {
		return nil
	}
	return d.Answer(now)
}

// warnings tells of what the run survived.
type warnings struct{}

// Process implements [Processor].
func (warnings) Process(was, now *client.Snapshot, d Display) error {
	for i := len(was.Warnings); i < len(now.Warnings); i++ {
		if err := d.Warning(now, i); err != nil {
			return err
		}
	}
	return nil
}
