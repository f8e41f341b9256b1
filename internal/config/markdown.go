package config

import (
	"fmt"
	"strings"
)

// Markdown writes the reference of every setting: what docs/configuration.md is.
func Markdown() string {
	var b strings.Builder
	b.WriteString(preamble)
	var c Config
	section := ""
	for _, s := range settings(&c) {
		if s.section != section {
			section = s.section
			fmt.Fprintf(&b, "\n## %s\n\n| flag and key | variable | default | limits | meaning |\n| --- | --- | --- | --- | --- |\n", section)
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

// limits is the setting's range for a person.
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

<!-- Made from internal/config by its test; change the struct there and run: go test ./internal/config -update -->

Sluice needs no configuration to begin. Each setting can be given in three ways, and the first of them that gives it wins:

1. a flag of the command, such as ` + "`--deadline 1m`" + `;
2. its variable, ` + "`SLUICE_`" + ` and the flag's name, such as ` + "`SLUICE_DEADLINE=1m`" + ` (that of ` + "`--data`" + ` is ` + "`SLUICE_DATA_DIR`" + `); an
   empty variable counts as not given;
3. a key of the YAML file that ` + "`--config FILE`" + ` or ` + "`SLUICE_CONFIG`" + ` names, under the flag's name.

Other variables with the prefix ` + "`SLUICE_`" + ` are ignored, since images and orchestrators set some of their own; a name that is close to a setting's
is logged as a warning. Flags that are not settings, such as ` + "`--version` and `--json`" + `, have no variable.

A wrong setting stops the program before it does anything, with every fault at once, and how each was given:

` + "```" + `
wrong settings:
  max-runs: must be from 1 to 1000000, not 0 (variable SLUICE_MAX_RUNS)
  deadline: wants a duration such as 30s, not the number 30 (sluice.yaml:3)
` + "```" + `

A size is a number with a unit: ` + "`KiB`, `MiB`, `GiB`" + ` count in 1,024s and ` + "`KB`, `MB`, `GB`" + ` in thousands; without a unit it is bytes. A
duration is a number with a unit, or several: ` + "`500ms`, `30s`, `1h30m`" + `.
`

const ending = `
## A file

The file holds one setting a line. A key that is no setting is refused, and so is a value of the wrong type. Relative paths
count from the file's folder.

` + "```yaml" + `
docs:
  - handbook
  - /srv/papers
addr: 0.0.0.0:8000
deadline: 1m
max-body: 128KiB
keep-runs-age: 168h
` + "```" + `

In the variable ` + "`SLUICE_DOCS`" + `, several paths are separated as in ` + "`PATH`" + `: by a colon, on Windows by a semicolon. In
` + "`SLUICE_MODEL`, `SLUICE_MODEL_URL`, `SLUICE_MODEL_NAME` and `SLUICE_JUDGE`" + ` they are separated by commas.

## Keys

` + "`OPENAI_API_KEY` and `ANTHROPIC_API_KEY`" + ` are the providers' own variables, and the only way in which a key is given: command lines are
seen by other users, and files get copied. A key is one host's: it is sent to the
provider's own address if anything is asked of that, and else to the first address of its kind of model, and to no other host. It is never
logged, stored or shown.
`
