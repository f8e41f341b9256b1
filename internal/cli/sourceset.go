package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sluice-rag/sluice/server/sources"
)

// sourceFlags are the settings of a source that can be changed.
type sourceFlags struct {
	Every       *string  `placeholder:"DURATION" help:"Time between two syncs, at least 1m, such as 1h. 0 ends the schedule."`
	Watch       *bool    `own:"" negatable:"" help:"Watch a folder, and index its changes at once."`
	Meta        []string `sep:"none" placeholder:"KEY=VALUE" help:"Metadata of all documents: title, creator, subject, description, publisher, date, language, rights, source or identifier. It replaces all metadata that was set before, and takes precedence over what the documents state. Can be repeated."`
	Attribute   []string `sep:"none" placeholder:"KEY=VALUE" help:"Attribute of all documents, such as team=legal or year=2024, for the filters of questions. Numbers, true and false are not texts. It replaces all attributes that were set before. Can be repeated."`
	Contributor *string  `placeholder:"ACCOUNT" help:"Account that earns a share of the answers that use the documents. An empty name removes it."`
}

func (f sourceFlags) settings() (set sources.SourceSettings, err error) {
	set = sources.SourceSettings{Every: f.Every, Watch: f.Watch, Contributor: f.Contributor}
	for _, pair := range f.Meta {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return set, fmt.Errorf("--meta %.200q: want KEY=VALUE", pair)
		}
		if set.Metadata == nil {
			set.Metadata = map[string]string{}
		}
		set.Metadata["dc_"+strings.TrimPrefix(key, "dc_")] = value
	}
	for _, pair := range f.Attribute {
		key, text, ok := strings.Cut(pair, "=")
		if !ok {
			return set, fmt.Errorf("--attribute %.200q: want KEY=VALUE", pair)
		}
		if set.Attributes == nil {
			set.Attributes = map[string]any{}
		}
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			value = text
		}
		switch value.(type) {
		case float64, bool:
			set.Attributes[key] = value
		default:
			set.Attributes[key] = text
		}
	}
	return set, nil
}

type sourcesSetCmd struct {
	sourcesOf
	sourceFlags
	ClearMeta       bool   `help:"Remove the metadata that was set."`
	ClearAttributes bool   `help:"Remove the attributes that were set."`
	Source          string `arg:"" help:"Id or location."`
}

// Run changes a source, and waits for the sync if its documents get other metadata.
func (c *sourcesSetCmd) Run(e *env) error {
	to, err := c.settings()
	if err != nil {
		return usagef("change source: %w", err)
	}
	if c.ClearMeta {
		if to.Metadata != nil {
			return usagef("change source: --meta and --clear-meta exclude each other")
		}
		to.Metadata = map[string]string{}
	}
	if c.ClearAttributes {
		if to.Attributes != nil {
			return usagef("change source: --attribute and --clear-attributes exclude each other")
		}
		to.Attributes = map[string]any{}
	}
	if to.Every == nil && to.Watch == nil && to.Metadata == nil && to.Attributes == nil && to.Contributor == nil {
		return usagef("change source: nothing to change: see --help")
	}
	return c.with(e, func(s sourceService) error {
		v, err := find(e.ctx, s, c.Source)
		if err != nil {
			return err
		}
		if v, err = s.set(e.ctx, v.ID, to); err != nil {
			return err
		}
		if v.State == sources.Syncing {
			if err := await(e, s, v); err != nil {
				return err
			}
		}
		fmt.Fprintf(e.Out, "%s  %s\n", v.ID, schedule(v))
		return nil
	})
}
