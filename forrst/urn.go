package forrst

import (
	"regexp"
	"strings"
)

// maxURN is the maximum length of a URN in bytes.
const maxURN = 255

// extensionURN matches the URN of an extension, with and without a vendor.
var extensionURN = regexp.MustCompile(`^urn:(?:[\pL\pN][\pL\pN_-]*:)?forrst:ext:[\pL\pN][\pL\pN_-]*$`)

// validURN reports whether s is the URN of an extension.
func validURN(s string) bool {
	return len(s) <= maxURN && extensionURN.MatchString(strings.ToLower(s))
}

// canonicalURN brings the URN of an extension to one form: lower case, and urn:forrst: for the protocol's own vendor.
func canonicalURN(s string) string { return shortURN(strings.ToLower(s)) }

// shortURN returns the spelling of a URN without the protocol's own vendor. Function names are case-sensitive.
func shortURN(s string) string {
	if rest, ok := strings.CutPrefix(s, "urn:cline:forrst:"); ok {
		return "urn:forrst:" + rest
	}
	return s
}

// reserved reports whether a name of a function belongs to the protocol.
func reserved(name string) bool {
	for _, prefix := range []string{"forrst.", "urn:cline:", "urn:forrst:"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// canonicalName returns the name under which a function is registered: system functions have several spellings.
func canonicalName(name string) string {
	if rest, ok := strings.CutPrefix(name, "forrst."); ok {
		return "urn:forrst:fn:" + rest
	}
	return shortURN(name)
}

// pointer returns a JSON pointer (RFC 6901) with one more member.
func pointer(base string, members ...string) string {
	var b strings.Builder
	b.WriteString(base)
	for _, m := range members {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(m))
	}
	return b.String()
}
