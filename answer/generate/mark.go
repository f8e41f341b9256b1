package generate

import (
	"iter"
	"strings"
)

// mark is a marker as it is read. The zero value is none.
type mark struct {
	raw    [maxMark + len("⟦")]byte
	n      int
	start  int  // of what stands between the brackets; 0: no marker is open
	digits int  // in a row
	behind bool // of [: a number stands before, and a comma or the end is to come; of others: a dagger does
}

// fit is what a marker makes of a character.
type fit int

const (
	waits fit = iota // it may belong to one
	whole            // it closes one
	fails            // there is none
)

func (k *mark) open() bool { return k.start > 0 }

func (k *mark) end() { k.n, k.start, k.digits, k.behind = 0, 0, 0, false }

func (k *mark) begin(bracket string) {
	k.end()
	k.n = copy(k.raw[:], bracket)
	k.start = k.n
}

// add takes a character. One that fails is not part of the marker.
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

// strict reads what stands in plain brackets: numbers of one to three digits, with commas between them.
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

// lenient reads what stands in brackets that prose has no use for. The letter n, copied from the instruction, is a number
// that no passage has; what some models write behind a dagger, the place in the passage, is passed over.
func (k *mark) lenient(c string) fit {
	fancy := k.raw[:k.start]
	switch {
	case c == "⟧" && string(fancy) == "⟦", c == "】" && string(fancy) == "【":
		return whole
	case c == "⟦", c == "【", c == "\n":
		return fails
	case k.behind: // the dagger
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

// spans gives the numbers of a marker that is whole, each as a range: from and to, which are often the same.
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
