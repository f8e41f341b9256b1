package weaviate

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// condition is a GraphQL value for the argument where. The empty condition is always true.
type condition string

// never is true for no object.
const never condition = `{path:["kind"],operator:Equal,valueInt:-1}`

// quote returns a GraphQL string. All of ASCII but letters, digits and a few marks is escaped, so no text ends the string. Bytes that are not UTF-8 are
// dropped.
func quote(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-', r == '.', r == ' ':
			b.WriteRune(r)
		case r == utf8.RuneError:
		case r < utf8.RuneSelf:
			b.WriteString(`\u00`)
			b.WriteByte("0123456789abcdef"[r>>4])
			b.WriteByte("0123456789abcdef"[r&15])
		case r == '\u2028' || r == '\u2029' || r == '\ufeff' || r < 0xa0:
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func quoteAll(all []string) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, s := range all {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quote(s))
	}
	b.WriteByte(']')
	return b.String()
}

func compare(property, operator, value string) condition {
	return condition(`{path:["` + property + `"],operator:` + operator + `,` + value + `}`)
}

func is(property, value string) condition {
	return compare(property, "Equal", "valueText:"+quote(value))
}

func after(property, value string) condition {
	return compare(property, "GreaterThan", "valueText:"+quote(value))
}

// oneOf is true if the property has one of the values.
func oneOf(property string, values []string) condition {
	switch len(values) {
	case 0:
		return never
	case 1:
		return is(property, values[0])
	}
	return compare(property, "ContainsAny", "valueText:"+quoteAll(values))
}

func noneOf(property string, values []string) condition {
	if len(values) == 0 {
		return ""
	}
	return compare(property, "ContainsNone", "valueText:"+quoteAll(values))
}

// isInt compares a number by an operator, such as LessThan.
func isInt(property, operator string, n int64) condition {
	return compare(property, operator, "valueInt:"+strconv.FormatInt(n, 10))
}

func isKind(k kind) condition { return isInt(propKind, "Equal", int64(k)) }

func and(all ...condition) condition { return combine("And", all) }
func or(all ...condition) condition  { return combine("Or", all) }

func combine(operator string, all []condition) condition {
	var some []string
	for _, c := range all {
		if c != "" {
			some = append(some, string(c))
		}
	}
	switch len(some) {
	case 0:
		return ""
	case 1:
		return condition(some[0])
	}
	return condition(`{operator:` + operator + `,operands:[` + strings.Join(some, ",") + `]}`)
}

// arguments joins the arguments of a query. where may be empty.
func arguments(tenant string, where condition, more ...string) string {
	args := append([]string{"tenant:" + quote(tenant)}, more...)
	if where != "" {
		args = append(args, "where:"+string(where))
	}
	return "(" + strings.Join(args, ",") + ")"
}

func limit(n int) string { return "limit:" + strconv.Itoa(n) }
