package display

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

// screen is a minimal terminal for the painter: an unlimited number of rows, and a cursor.
type screen struct {
	t    *testing.T
	rows [][]rune
	x, y int
}

func (s *screen) Write(p []byte) (int, error) {
	for text := []rune(string(p)); len(text) > 0; {
		r := text[0]
		text = text[1:]
		switch r {
		case '\r':
			s.x = 0
		case '\n':
			s.y++
		case '\x1b':
			end := slices.IndexFunc(text[1:], func(r rune) bool { return r >= '@' }) + 1
			sequence := string(text[:end+1])
			text = text[end+1:]
			s.obey(sequence)
		default:
			s.row()[s.x] = r
			s.x++
		}
	}
	return len(p), nil
}

func (s *screen) obey(sequence string) {
	n := 1
	switch {
	case sequence == "[K":
		clear(s.row()[s.x:])
	case sequence == "[2K":
		clear(s.row())
	case strings.HasPrefix(sequence, "[?"):
	case strings.HasSuffix(sequence, "A"):
		_, _ = fmt.Sscanf(sequence, "[%dA", &n)
		if s.y -= n; s.y < 0 {
			s.t.Fatal("the cursor left the screen")
		}
	default:
		s.t.Fatalf("an unknown sequence %q", sequence)
	}
}

func (s *screen) row() []rune {
	for len(s.rows) <= s.y {
		s.rows = append(s.rows, make([]rune, 200))
	}
	return s.rows[s.y]
}

// narrow wraps longer rows, as a terminal does when it becomes narrower.
func (s *screen) narrow(width int) {
	var rows [][]rune
	for y, row := range s.rows {
		n := len(row)
		for n > 0 && row[n-1] == 0 {
			n--
		}
		for at := 0; at == 0 || at < n; at += width {
			part := make([]rune, 200)
			copy(part, row[at:max(min(at+width, n), at)])
			rows = append(rows, part)
		}
		if y == s.y {
			s.y, s.x = len(rows)-1, 0
			break
		}
	}
	s.rows = rows
}

// lines returns the rows up to the last one that is not blank.
func (s *screen) lines() (all []string) {
	for _, row := range s.rows {
		all = append(all, strings.TrimRight(string(bytes.ReplaceAll([]byte(string(row)), []byte{0}, []byte(" "))), " "))
	}
	for len(all) > 0 && all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

// TestPainterKeepsScreen: for any sequence of frames, the screen shows only the last frame, below the earlier text. At the end it shows
// only the earlier text.
func TestPainterKeepsScreen(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s := &screen{t: t}
		_, _ = s.Write([]byte("before\r\n"))
		p := NewPainter(s)
		for range 30 {
			var frame []string
			for range 1 + rng.IntN(12) {
				frame = append(frame, strings.Repeat(string(rune('a'+rng.IntN(4))), rng.IntN(30)))
			}
			require.NoError(t, p.Paint(slices.Clone(frame)))
			want := append([]string{"before"}, frame...)
			for want[len(want)-1] == "" {
				want = want[:len(want)-1]
			}
			if got := s.lines(); !slices.Equal(got, want) {
				t.Fatalf("seed %d:\n%q\nwant\n%q", seed, got, want)
			}
			if rng.IntN(8) == 0 {
				width := 10 + rng.IntN(30)
				s.narrow(width)
				require.NoError(t, p.Resized(width))
				if got := s.lines(); !slices.Equal(got, []string{"before"}) {
					t.Fatalf("seed %d: erased, and left %q", seed, got)
				}
			}
		}
		require.NoError(t, p.Close())
		if got := s.lines(); !slices.Equal(got, []string{"before"}) || s.y != 1 || s.x != 0 {
			t.Fatalf("seed %d: closed, and left %q", seed, got)
		}
	}
}
