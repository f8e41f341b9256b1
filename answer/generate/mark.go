package generate

import (
	"iter"
	"strings"
)

// marker is the state of a citation marker that is being read. The zero value means no marker.
type marker struct {
	raw        [maxMark + len("⟦")]byte
	n          int
	textStart  int  // of the text between the brackets; 0: no open marker
	digits     int  // consecutive digits
	numberDone bool // after "[": a number was read, and a comma or the end must follow; after other brackets: a dagger was read
}

// fit is the result of adding a character to a marker.
type fit int

const (
	pending  fit = iota // it may be part of a marker
	complete            // it closes the marker
	invalid             // it is not a marker
)

func (k *marker) open() bool { return k.textStart > 0 }

func (k *marker) end() { k.n, k.textStart, k.digits, k.numberDone = 0, 0, 0, false }

func (k *marker) start(bracket string) {
	k.end()
	k.n = copy(k.raw[:], bracket)
	k.textStart = k.n
}

// add processes a character. A character that fails is not part of the marker.
func (k *marker) add(c string) fit {
	var f fit
	switch k.raw[0] {
	case '[':
		f = k.strict(c)
	default:
		f = k.lenient(c)
	}
	if f != pending {
		return f
	}
	if k.n+len(c) > k.textStart+maxMark {
		return invalid
	}
	k.n += copy(k.raw[k.n:], c)
	return pending
}

// strict processes the content of plain brackets: numbers of one to three digits separated by commas.
func (k *marker) strict(c string) fit {
	switch {
	case c == "]" && (k.digits > 0 || k.numberDone):
		return complete
	case c == " " || c == "\t":
		k.numberDone = k.numberDone || k.digits > 0
		k.digits = 0
		return pending
	case c == "," && (k.digits > 0 || k.numberDone):
		k.digits, k.numberDone = 0, false
		return pending
	case len(c) == 1 && c[0] >= '0' && c[0] <= '9' && !k.numberDone && k.digits < 3 && (k.digits > 0 || c != "0"):
		k.digits++
		return pending
	}
	return invalid
}

// lenient processes the content of special brackets. The letter n, copied from the instructions, is a number without a
// passage; text after a dagger, which some models write for the position in the passage, is ignored.
func (k *marker) lenient(c string) fit {
	fancy := k.raw[:k.textStart]
	switch {
	case c == "⟧" && string(fancy) == "⟦", c == "】" && string(fancy) == "【":
		return complete
	case c == "⟦", c == "【", c == "\n":
		return invalid
	case k.numberDone: // after the dagger
		return pending
	case c == "†" && k.digits > 0:
		k.numberDone = true
		return pending
	case len(c) == 1 && c[0] >= '0' && c[0] <= '9':
		k.digits++
		return pending
	case c == "n" && k.digits == 0:
		k.digits++
		return pending
	case c == "–" || strings.Contains(" \t,;-", c):
		return pending
	}
	return invalid
}

// spans returns the numbers of a complete marker as ranges; a single number has equal ends.
func (k *marker) spans() iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		var numbers [2]int
		have, reading, dash := 0, false, false
		yieldRange := func() bool {
			first, last := numbers[0], numbers[max(have, 1)-1]
			more := have == 0 || yield(first, last)
			have, dash = 0, false
			return more
		}
		for _, c := range string(k.raw[k.textStart:k.n]) {
			digit := c >= '0' && c <= '9'
			switch {
			case digit && reading:
				numbers[have-1] = min(numbers[have-1]*10+int(c-'0'), 1e6)
			case digit:
				if (have == 2 || have == 1 && !dash) && !yieldRange() {
					return
				}
				numbers[have] = int(c - '0')
				have++
			case c == '-' || c == '–':
				dash = true
			case c == ',' || c == ';':
				if !yieldRange() {
					return
				}
			case c == '†':
				yieldRange()
				return
			}
			reading = digit
		}
		yieldRange()
	}
}
