package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sluice-rag/sluice/prompt"
)

type promptsCmd struct {
	Dir string `arg:"" type:"path" help:"Folder to write them to; it is made if it is not there."`
}

// Run writes the built-in prompts out. What is there already stays as it is.
func (c *promptsCmd) Run(e *env) error {
	set, err := prompt.Load("")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return fmt.Errorf("write prompts: %w", err)
	}
	for _, name := range set.Names() {
		path := filepath.Join(c.Dir, name)
		text, err := set.Source(name)
		if err != nil {
			return err
		}
		out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			fmt.Fprintln(e.Err, "kept as it is:", path)
			continue
		}
		if err == nil {
			_, err = out.WriteString(text)
			err = errors.Join(err, out.Close())
		}
		if err != nil {
			return fmt.Errorf("write prompts: %w", err)
		}
		fmt.Fprintln(e.Out, path)
	}
	return nil
}
