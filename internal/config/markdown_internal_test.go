package config

import (
	"fmt"
	"strings"
)

// Markdown returns the reference of all settings, docs/configuration.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString(preamble)
	var c Config
	section := ""
	for _, s := range settings(&c) {
		if s.section != section {
			section = s.section
			fmt.Fprintf(&b, "\n## %s\n\n| flag and key | variable | default | limits | description |\n| --- | --- | --- | --- | --- |\n", section)
		}
		def := s.note
		if s.def != "" {
			def = "`" + s.def + "`"
		}
		if def == "" {
			def = "none"
		}
		fmt.Fprintf(&b, "| `--%s` | `%s` | %s | %s | %s |\n", s.name, s.variable(), def, s.limits(), s.help)
	}
	b.WriteString(ending)
	return b.String()
}

// limits describes the allowed values of the setting.
func (s setting) limits() string {
	switch {
	case s.isList() && s.tag.Get("oneof") != "":
		return "repeatable; `" + strings.ReplaceAll(s.tag.Get("oneof"), ",", "`, `") + "`"
	case s.isList():
		return "repeatable"
	case s.tag.Get("oneof") != "":
		return "`" + strings.ReplaceAll(s.tag.Get("oneof"), ",", "`, `") + "`"
	case s.tag.Get("maxlen") != "":
		return "1 to " + s.tag.Get("maxlen") + " bytes"
	case s.tag.Get("never") != "":
		return "`" + s.tag.Get("min") + "` to `" + s.tag.Get("max") + "`, or `" + s.tag.Get("never") + "`"
	case s.tag.Get("min") != "":
		return "`" + s.tag.Get("min") + "` to `" + s.tag.Get("max") + "`"
	}
	return ""
}

const preamble = `# Configuration

<!-- Generated from internal/config. To update this page, change the struct there and run: make docs -->

Sluice runs without configuration. Each setting can be set in three ways. The first that sets it is used:

1. a flag of the command, such as ` + "`--deadline 1m`" + `;
2. an environment variable, ` + "`SLUICE_`" + ` and the name of the flag, such as ` + "`SLUICE_DEADLINE=1m`" + ` (for ` + "`--data`" + ` it is ` + "`SLUICE_DATA_DIR`" + `).
   An empty variable counts as unset;
3. a key of the YAML file that ` + "`--config FILE`" + ` or ` + "`SLUICE_CONFIG`" + ` names. The key is the name of the flag.

Other variables with the prefix ` + "`SLUICE_`" + ` are ignored. A warning in the log names each of them, and the setting with a similar name. Those that Kubernetes sets for the services of a
namespace are ignored without a warning. Flags that are not settings, such as ` + "`--version` and `--json`" + `, have no variable.

If settings are invalid, the program stops before it does anything. It reports all invalid settings with their sources:

` + "```" + `
invalid settings:
  max-runs: must be from 1 to 1000000, not 0 (variable SLUICE_MAX_RUNS)
  deadline: must be a duration such as 30s, not the number 30 (sluice.yaml:3)
` + "```" + `

A size is a number with a unit. ` + "`KiB`, `MiB`, `GiB`" + ` are powers of 1,024 and ` + "`KB`, `MB`, `GB`" + ` powers of 1,000. Without a unit it is bytes. A
duration is a sequence of numbers with units: ` + "`500ms`, `30s`, `1h30m`" + `.
`

const ending = `
## Configuration file

The file contains one setting per line. Unknown keys and values of the wrong type are errors. Relative paths are relative to
the folder of the file.

` + "```yaml" + `
docs:
  - handbook
  - /srv/papers
addr: 0.0.0.0:8000
deadline: 1m
max-body: 128KiB
keep-runs-age: 168h
` + "```" + `

In the variable ` + "`SLUICE_DOCS`" + `, paths are separated as in ` + "`PATH`" + `: by colons, on Windows by semicolons. In
` + "`SLUICE_MODEL`, `SLUICE_MODEL_URL`, `SLUICE_MODEL_NAME` and `SLUICE_JUDGE`" + ` values are separated by commas.

## API keys

` + "`OPENAI_API_KEY` and `ANTHROPIC_API_KEY`" + ` are the only way to set API keys, because other users can see command lines, and files are easily
copied. Each key is sent to one host only: to the provider's own address if it is configured, otherwise to the first address of its
kind of model. Keys are never logged, stored or shown.

` + "`SLUICE_OIDC_CLIENT_SECRET`" + ` is the secret of the client at the OpenID provider, for the same reasons only a variable. It is only sent to the token endpoint of the
provider. Without it, the client is a public one.

` + "`SLUICE_INDEX_KEY`" + ` is the API key of the Weaviate server of ` + "`--index`" + `, unless ` + "`--index-key-file`" + ` names a file that holds it. It is only sent to that
server.
`
