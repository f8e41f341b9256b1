package selfquery

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/corpus/filter"
	"github.com/sluice-rag/sluice/lang"
)

// maxQuestion limits the text that the rules read, in bytes.
const maxQuestion = 2048

// Words for documents. Without one of them, a date or a name in a question is about its subject, not about documents.
const (
	noun = `(?:documents?|docs?|files?|papers?|reports?|articles?|notes?|books?|letters?|publications?|posts?|pages?|pdfs?|memos?|manuals?|guides?|sources?|essays?|studies|study)`
	cue  = `\b(?i:` + noun + `|published|written|authored|dated)`
	name = `\p{Lu}[\p{L}.'’-]*(?:\s+(?:(?:de|van|von|der|la|le|di|da|bin|al)\s+)*\p{Lu}[\p{L}.'’-]*){0,3}`
	// quoted is a text in quotation marks.
	quoted = `["“”«„'‘]([^"“”»']{2,200})["”“»'’]`
	few    = `(?:[^\S\n]+[^\s.?!]+){0,5}?\s+` // a few words between a cue and a date
)

// rule is a pattern with what its groups set. The first group is removed from the question.
type rule struct {
	re  *regexp.Regexp
	set func(f *Filter, groups []string) bool
}

func compile(pattern string, set func(*Filter, []string) bool) rule {
	return rule{regexp.MustCompile(pattern), set}
}

// rules are tried in this order; each may apply once.
var rules = []rule{
	// Dates.
	compile(cue+few+`(?i:((?:between|from)\s+(`+filter.AnyDate+`)\s+(?:and|to|until|till|through)\s+(`+filter.AnyDate+`)))`, func(f *Filter, g []string) bool { return f.within(g[1], g[2]) }),
	compile(`(?i:\b(date\s*[:=]\s*(`+filter.AnyDate+`)(?:\s*(?:\.\.|to|until)\s*(`+filter.AnyDate+`))?))`, func(f *Filter, g []string) bool {
		if g[2] == "" {
			g[2] = g[1]
		}
		return f.within(g[1], g[2])
	}),
	compile(cue+few+`(?i:((?:before|prior to|earlier than|older than)\s+(`+filter.AnyDate+`)))`, before),
	compile(`(?i:\b(before\s*[:=]\s*(`+filter.AnyDate+`)))`, before),
	compile(cue+few+`(?i:((?:after|later than|newer than)\s+(`+filter.AnyDate+`)))`, after),
	compile(`(?i:\b(after\s*[:=]\s*(`+filter.AnyDate+`)))`, after),
	compile(cue+few+`(?i:((?:since|from)\s+(`+filter.AnyDate+`)\s+on(?:wards?)?\b))`, func(f *Filter, g []string) bool { return f.within(g[1], "") }),
	compile(cue+few+`(?i:(since\s+(`+filter.AnyDate+`)))`, func(f *Filter, g []string) bool { return f.within(g[1], "") }),
	compile(cue+few+`(?i:((?:until|till|up to)\s+(`+filter.AnyDate+`)))`, func(f *Filter, g []string) bool { return f.within("", g[1]) }),
	compile(cue+few+`(?i:((?:in|from|of|during|on|dated)\s+(`+filter.AnyDate+`)))`, func(f *Filter, g []string) bool { return f.within(g[1], g[1]) }),
	compile(`\b(?i:(?:published|written|authored)\s+|dated\s+)(?i:((`+filter.AnyDate+`)))`, func(f *Filter, g []string) bool { return f.within(g[1], g[1]) }),
	compile(`\b((?:the\s+)?(`+filter.Year+`)\s)(?i:`+noun+`)\b`, func(f *Filter, g []string) bool { return f.within(g[1], g[1]) }),
	// Authors and publishers.
	compile(`\b((?i:published|issued)\s+by\s+(`+name+`))`, publisher),
	compile(`\b(?i:`+noun+`)\s+((?:(?i:that|which|were|was|are|is)\s+)*(?:(?i:written|authored)\s+)?by\s+(`+name+`))`, creator),
	compile(`\b((?i:written|authored)\s+by\s+(`+name+`))`, creator),
	compile(`((?i:,?\s*\baccording\s+to)\s+(`+name+`),?)`, creator),
	compile(`((?i:\b(?:author|creator)\s*[:=])\s*(?:`+quoted+`|(`+name+`)))`, creator),
	compile(`((?i:\bpublisher\s*[:=])\s*(?:`+quoted+`|(`+name+`)))`, publisher),
	compile(`\b((`+name+`)['’]s?\s)(?i:`+noun+`)\b`, creator),
	// Titles.
	compile(`((?i:\btitle\s*[:=])\s*(?:`+quoted+`|([^\s,;?]+)))`, title),
	compile(`\b(?i:`+noun+`)\s+((?:(?i:titled|entitled|called|named)\s+)?`+quoted+`)`, title),
	compile(`\b((?i:titled|entitled)\s+`+quoted+`)`, title),
	// Types.
	compile(`(?i:\b((?:file)?type\s*[:=]\s*([a-z]+)))`, kind),
	compile(`(?i:\b((?:in|among|from|of|within)\s+(?:the|all|my|our|your|any)?\s*(pdf|markdown|html|csv|web|plain text|text)\s*(?:s\b|(?:files?|documents?|pages?|notes?)\b)))`, kind),
	compile(`(?i:\b((pdf|markdown|html|csv|web|plain text)\s)`+noun+`\b)`, kind),
	// Languages.
	compile(`(?i:\b(language\s*[:=]\s*([a-z]+(?:-[a-z]+)?)))`, language),
	compile(`(?i:\b(?:`+noun+`|written|published)\s+(in\s+([a-z]+))\b)`, language),
	compile(`(?i:\b(([a-z]+)(?:-language|\s+language)?\s+)`+noun+`\b)`, language),
}

func (f *Filter) within(from, to string) bool {
	if from != "" {
		s, ok := filter.ParseDate(bare(from))
		if !ok {
			return false
		}
		f.From = day(s.First)
	}
	if to != "" {
		s, ok := filter.ParseDate(bare(to))
		if !ok {
			return false
		}
		f.To = day(s.Last)
	}
	return from == "" || to == "" || f.From <= f.To
}

// bare returns a date without the words before it.
func bare(date string) string {
	date = strings.ToLower(date)
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(date, "the "), "year "))
}

func before(f *Filter, g []string) bool {
	s, ok := filter.ParseDate(bare(g[1]))
	f.To = day(s.First.AddDate(0, 0, -1))
	return ok
}

func after(f *Filter, g []string) bool {
	s, ok := filter.ParseDate(bare(g[1]))
	f.From = day(s.Last.AddDate(0, 0, 1))
	return ok
}

// last returns the last group that matched.
func last(g []string) string {
	for i := len(g) - 1; i > 0; i-- {
		if g[i] != "" {
			return strings.TrimSpace(strings.TrimRight(g[i], ".'’- "))
		}
	}
	return ""
}

func creator(f *Filter, g []string) bool   { f.Creator = last(g); return f.Creator != "" }
func publisher(f *Filter, g []string) bool { f.Publisher = last(g); return f.Publisher != "" }
func title(f *Filter, g []string) bool     { f.Title = last(g); return f.Title != "" }

func kind(f *Filter, g []string) bool {
	k := strings.ToLower(last(g))
	switch k {
	case "web":
		k = "html"
	case "csv", "tsv":
		k = "table"
	case "md":
		k = "markdown"
	case "plain text", "txt":
		k = "text"
	}
	f.Type = k
	return slices.Contains(filter.Types(), k)
}

func language(f *Filter, g []string) bool {
	named := strings.ToLower(last(g))
	f.Language = filter.Languages[named]
	if len(named) != len("en") && strings.IndexByte(named, '-') < 0 || !strings.ContainsAny(g[0], ":=") {
		return f.Language != ""
	}
	f.Language = filter.LanguageCode(named)
	return f.Language != ""
}

// Rules is the [Extractor] that needs no model. It knows English phrases, such as "papers by Ada Brook from 2021", and fields such as
// "author: Ada Brook" and "after:2020" in questions of any language. The zero value works.
type Rules struct{}

// Extract implements [Extractor].
func (Rules) Extract(ctx context.Context, question string) (Filter, error) {
	f := Filter{Query: question, By: "rules"}
	if err := ctx.Err(); err != nil || len(question) > maxQuestion {
		return f, err
	}
	rest := question
	for _, r := range rules {
		m := r.re.FindStringSubmatchIndex(rest)
		if m == nil {
			continue
		}
		groups := []string{rest[m[0]:m[1]]}
		for i := 4; i < len(m); i += 2 {
			groups = append(groups, "")
			if m[i] >= 0 {
				groups[len(groups)-1] = rest[m[i]:m[i+1]]
			}
		}
		if next := f; r.set(&next, groups) && !conflicts(f, next) {
			f = next
			rest = rest[:m[2]] + " " + rest[m[3]:]
		}
	}
	if !f.Empty() {
		f.Query = remainder(question, rest)
	}
	return f, nil
}

// conflicts reports whether next replaces a condition of f.
func conflicts(f, next Filter) bool {
	for _, c := range [][2]string{{f.Creator, next.Creator}, {f.Publisher, next.Publisher}, {f.Title, next.Title}, {f.Type, next.Type},
		{f.Language, next.Language}, {f.From, next.From}, {f.To, next.To}} {
		if c[0] != "" && c[0] != c[1] {
			return true
		}
	}
	return false
}

var beforeMarkRE = regexp.MustCompile(`\s+([?!.,;:])`)

// remainder returns what is left of a question without its conditions, or the question if no content is left.
func remainder(question, rest string) string {
	rest = inNounRE.ReplaceAllString(strings.Join(strings.Fields(rest), " "), "")
	rest = beforeMarkRE.ReplaceAllString(strings.Join(strings.Fields(rest), " "), "$1")
	rest = strings.TrimSpace(strings.TrimLeft(rest, " ,;:"))
	if len(lang.ContentWords(nounRE.ReplaceAllString(rest, " "), 1)) == 0 {
		return question
	}
	return rest
}

// inNounRE matches what is left of "in papers by Ada Brook".
var inNounRE = regexp.MustCompile(`(?i)\s(?:in|from|among|within|of)\s(?:(?:the|all|any|my|our|your)\s)?` + noun + `\b`)

var nounRE = regexp.MustCompile(cue + `\b`)
