package transport

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/model"
)

const (
	maxMessage = 2048 // bytes of a provider's message that are looked at
	maxReason  = 200  // characters that are shown
	removed    = "[…]"
	promptRun  = 16 // bytes of letters and digits that a message may not share with the prompt
	promptText = 20 // characters of any kind that a message may not share with the prompt
	keyRun     = 8  // characters that a message may not share with a key
	maskRun    = 4  // letters of a masked key, such as the last four
)

// Problem is a provider's error object. Its texts are not safe to show: see [Reason].
type Problem struct {
	Failure model.Failure
	Code    string // machine-readable, such as context_length_exceeded
	Message string
}

var (
	// Text that is escaped once more could hide the prompt from the comparison.
	escapeRE     = regexp.MustCompile(`\\[uxU][0-9a-fA-F]{2}|%[0-9a-fA-F]{2}|&#|&\w+;`)
	simpleEscRE  = regexp.MustCompile(`\\[nrtbf]`)
	urlRE        = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://[^\s"'<>()]+`)
	mailRE       = regexp.MustCompile(`[^\s@]+@[^\s@]+`)
	credentialRE = regexp.MustCompile(`(?i)\b(?:bearer\s+\S+|basic\s+[a-z0-9+/=_-]{8,}|(?:sk|pk|rk|xai|gsk|hf|org|proj|acct|req|key|api[-_ ]?key|token|secret|password)[-_=:]\s?\S+|AIza\S+|eyJ\S+)`)
	maskRE       = regexp.MustCompile(`\S*(?:\*{2}|[•…]|\.{3}|[xX]{4})\S*`)
	longRE       = regexp.MustCompile(`[A-Za-z0-9+/_=.~-]{20,}`)
	codeRE       = regexp.MustCompile(`^[a-z]+(?:_[a-z]+)+$`)
)

// Reason returns what may be shown of a provider's error: its code and message in at most 200 characters. It is empty for
// failures that the message does not explain, and if the message may hold a credential of the request that was sent or a
// part of its prompt. Tokens that look like keys or identifiers are replaced.
func Reason(sent *http.Request, status int, p Problem) string {
	if sent == nil || !explains(status, p) || len(p.Message) > 32*maxMessage {
		return ""
	}
	message := printable(p.Message)
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "")
	}
	if codeRE.MatchString(p.Code) && !strings.Contains(message, p.Code) {
		message = strings.TrimSuffix(p.Code+": "+message, ": ")
	}
	texts, name, ok := sentTexts(sent)
	if !ok || message == "" || escapeRE.MatchString(message) || holdsCredential(message, credentials(sent)) {
		return ""
	}
	if shares(message, texts) {
		return ""
	}
	return clip(redact(message, name), maxReason)
}

// explains reports whether the message of a failure is useful to users. Messages of a refused key may hold parts of it, and
// those of a crashed server may hold anything.
func explains(status int, p Problem) bool {
	switch p.Failure {
	case model.RateLimited, model.TooLong, model.Rejected:
		return true
	case model.ServerError:
		return status == http.StatusServiceUnavailable || status == 529 || strings.Contains(strings.ToLower(p.Code+p.Message), "overloaded")
	}
	return false
}

// printable returns a text on one line, with neither control nor format characters.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError, !unicode.IsPrint(r):
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// redact replaces what looks like a key or an identifier. The model's name stays.
func redact(message, name string) string {
	message = urlRE.ReplaceAllStringFunc(message, func(s string) string {
		u, err := url.Parse(s)
		if err != nil || u.Host == "" {
			return removed
		}
		return u.Scheme + "://" + u.Host + u.EscapedPath()
	})
	for _, re := range []*regexp.Regexp{mailRE, credentialRE, maskRE} {
		message = re.ReplaceAllString(message, removed)
	}
	return longRE.ReplaceAllStringFunc(message, func(s string) string {
		if strings.Contains(name, strings.Trim(s, ".=")) || s == strings.ToLower(s) && !strings.ContainsAny(s, "0123456789") {
			return s
		}
		return removed
	})
}

// credentials returns the keys, user names and passwords that a request was sent with.
func credentials(r *http.Request) (all []string) {
	for _, name := range []string{"Authorization", "X-Api-Key", "Api-Key", "Proxy-Authorization", "Cookie"} {
		for _, value := range r.Header.Values(name) {
			all = append(all, strings.Fields(value)...)
		}
	}
	if user, password, ok := r.BasicAuth(); ok {
		all = append(all, user, password)
	}
	if r.URL != nil {
		password, _ := r.URL.User.Password()
		all = append(all, r.URL.User.Username(), password)
		for _, values := range r.URL.Query() {
			all = append(all, values...)
		}
	}
	return all
}

// holdsCredential reports whether a message holds one of the credentials or a part of it, such as its last four characters.
func holdsCredential(message string, all []string) bool {
	message = strings.ToLower(message)
	words := strings.FieldsFunc(message, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, c := range all {
		c = strings.ToLower(c)
		if len(c) < maskRun || c == "bearer" || c == "basic" {
			continue
		}
		for at := range max(1, len(c)-keyRun+1) {
			if strings.Contains(message, c[at:min(at+keyRun, len(c))]) {
				return true
			}
		}
		for _, w := range words {
			if len(w) >= maskRun && (strings.HasPrefix(c, w) || strings.HasSuffix(c, w)) {
				return true
			}
		}
	}
	return false
}

// sentTexts returns the texts of a request's body and the name of the model. It fails if the body cannot be read again.
func sentTexts(r *http.Request) (texts []string, name string, ok bool) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, "", true
	}
	if r.GetBody == nil {
		return nil, "", false
	}
	body, err := r.GetBody()
	if err != nil {
		return nil, "", false
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	var all map[string]any
	if err != nil || json.Unmarshal(data, &all) != nil {
		return nil, "", false
	}
	name, _ = all["model"].(string)
	delete(all, "model")
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			texts = append(texts, v)
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(all)
	return texts, name, true
}

// shares reports whether a message has a run of text in common with one of the texts, whatever its case, line breaks and
// punctuation.
func shares(message string, texts []string) bool {
	message = simpleEscRE.ReplaceAllString(message, " ")
	for _, c := range []struct {
		form func(string) string
		n    int
	}{{letters, promptRun}, {flat, promptText}} {
		m := c.form(message)
		runs := map[string]bool{}
		for at := 0; at+c.n <= len(m); at++ {
			runs[m[at:at+c.n]] = true
		}
		for _, text := range texts {
			text = c.form(text)
			for at := 0; len(runs) > 0 && at+c.n <= len(text); at++ {
				if runs[text[at:at+c.n]] {
					return true
				}
			}
		}
	}
	return false
}

// letters returns the letters and digits of a text in lower case.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// flat returns a text as [printable] does, in lower case.
func flat(s string) string { return strings.ToLower(printable(s)) }

// clip cuts a text to n characters at a space.
func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	cut := string([]rune(s)[:n-1])
	if at := strings.LastIndexByte(cut, ' '); at > 0 {
		cut = cut[:at]
	}
	return strings.TrimRight(cut, " ,;:") + "…"
}
