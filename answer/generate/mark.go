package generate

import (
	"iter"
	"strings"
)

// mark is the state of a citation marker that is being read. The zero value means no marker.
type mark struct {
	raw    [maxMark + len("⟦")]byte
	n      int
	start  int  // of the text between the brackets; 0: no open marker
	digits int  // consecutive digits
	behind bool // after "[": a number was read, and a comma or the end must follow; after other brackets: a dagger was read
}

// fit is the result of adding a character to a marker.
type fit int

const (
	waits fit = iota // it may be part of a marker
	whole            // it closes the marker
	fails            // it is not a marker
)

func (k *mark) open() bool { return k.start > 0 }

func (k *mark) end() { k.n, k.start, k.digits, k.behind = 0, 0, 0, false }

func (k *mark) begin(bracket string) {
	k.end()
	k.n = copy(k.raw[:], bracket)
	k.start = k.n
}

// add processes a character. A character that fails is not part of the marker.
func (k *mark) add(c string) fit {
	var f fit
	switch k.raw[0] {
	case '[':
		f = k.strict(c)
	default:
		f = k.lenient(c)
	}
	if f != waits {
		return f
	}
	if k.n+len(c) > k.start+maxMark {
		return fails
	}
	k.n += copy(k.raw[k.n:], c)
	return waits
}

// strict processes the content of plain brackets: numbers of one to three digits separated by commas.
func (k *mark) strict(c string) fit {
	switch {
	case c == "]" && (k.digits > 0 || k.behind):
		return whole
	case c == " " || c == "\t":
		k.behind = k.behind || k.digits > 0
		k.digits = 0
		return waits
	case c == "," && (k.digits > 0 || k.behind):
		k.digits, k.behind = 0, false
		return waits
	case len(c) == 1 && c[0] >= '0' && c[0] <= '9' && !k.behind && k.digits < 3 && (k.digits > 0 || c != "0"):
		k.digits++
		return waits
	}
	return fails
}

// lenient processes the content of special brackets. The letter n, copied from the instructions, is a number without a
// passage; text after a dagger, which some models write for the position in the passage, is ignored.
func (k *mark) lenient(c string) fit {
	fancy := k.raw[:k.start]
	switch {
	case c == "⟧" && string(fancy) == "⟦", c == "】" && string(fancy) == "【":
		return whole
	case c == "⟦", c == "【", c == "\n":
		return fails
	case k.behind: // after the dagger
		return waits
	case c == "†" && k.digits > 0:
		k.behind = true
		return waits
	case len(c) == 1 && c[0] >= '0' && c[0] <= '9':
		k.digits++
		return waits
	case c == "n" && k.digits == 0:
		k.digits++
		return waits
	case c == "–" || strings.Contains(" \t,;-", c):
		return waits
	}
	return fails
}

// spans returns the numbers of a complete marker as ranges; a single number has equal ends.
func (k *mark) spans() iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		var numbers [2]int
		have, reading, dash := 0, false, false
		tell := func() bool {
			first, last := numbers[0], numbers[max(have, 1)-1]
			told := have == 0 || yield(first, last)
			have, dash = 0, false
			return told
		}
		for _, c := range string(k.raw[k.start:k.n]) {
			digit := c >= '0' && c <= '9'
			switch {
			case digit && reading:
				numbers[have-1] = min(numbers[have-1]*10+int(c-'0'), 1e6)
			case digit:
				if (have == 2 || have == 1 && !dash) && !tell() {
					return
				}
				numbers[have] = int(c - '0')
				have++
			case c == '-' || c == '–':
				dash = true
			case c == ',' || c == ';':
				if !tell() {
					return
				}
			case c == '†':
				tell()
				return
			}
			reading = digit
		}
		tell()
	}
}
