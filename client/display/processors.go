package display

import (
	"slices"

	"github.com/sluice-rag/sluice/client"
)

// steps reports new and changed steps of its kinds.
type steps struct{ kinds []client.Kind }

// Process implements [Processor].
func (p steps) Process(before, now *client.Snapshot, d Display) error {
	for i, s := range now.Steps {
		if !slices.Contains(p.kinds, s.Kind) || i < len(before.Steps) && before.Steps[i] == s {
			continue
		}
		if err := d.Step(now, i); err != nil {
			return err
		}
	}
	return nil
}

// reasoning reports changes of the reasoning.
type reasoning struct{}

// Process implements [Processor].
func (reasoning) Process(before, now *client.Snapshot, d Display) error {
	if before.Reasoning == now.Reasoning {
		return nil
	}
	return d.Reasoning(now)
}

// message reports changes of the text and the citations of the answer.
type message struct{}

// Process implements [Processor].
func (message) Process(before, now *client.Snapshot, d Display) error {
	if before.Text == now.Text && before.Answer == now.Answer && len(before.Citations) == len(now.Citations) {
		return nil
	}
	if now.Text == "" && len(now.Citations) == 0 {
		return nil
	}
	return d.Answer(now)
}

// warnings reports new warnings.
type warnings struct{}

// Process implements [Processor].
func (warnings) Process(before, now *client.Snapshot, d Display) error {
	for i := len(before.Warnings); i < len(now.Warnings); i++ {
		if err := d.Warning(now, i); err != nil {
			return err
		}
	}
	return nil
}
