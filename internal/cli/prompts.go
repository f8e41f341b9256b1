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
	Dir string `arg:"" type:"path" help:"Folder to write to. It is created if necessary."`
}

// Run writes the built-in prompts. It does not overwrite files.
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
			fmt.Fprintln(e.Err, "skipped, file exists:", path)
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
