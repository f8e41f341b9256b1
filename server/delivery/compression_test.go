package delivery

import (
	"bytes"
	"compress/gzip"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/forge"
)

func TestChecksumExtend(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 100<<10)
	for i := range text {
		text[i] = byte(rng.Uint32())
	}
	for range 200 {
		own, from := text[:rng.IntN(200)], rng.IntN(len(text))
		to := from + rng.IntN(len(text)-from)
		var a, b, got checksum
		a.add(text[:from])
		b.add(text[:to])
		got.add(own)
		got.extend(a, b)
		want := crc32.ChecksumIEEE(append(bytes.Clone(own), text[from:to]...))
		if got.crc != want || got.n != uint64(len(own)+to-from) {
			t.Fatalf("%d bytes and those from %d to %d: %v, want %08x", len(own), from, to, got, want)
		}
	}
}

// decoders returns decoders of a compression, including other implementations.
func decoders(t *testing.T, name string) map[string]func(body []byte) ([]byte, error) {
	out := map[string]func([]byte) ([]byte, error){}
	if name == "gzip" {
		out["go"] = func(b []byte) ([]byte, error) {
			r, err := gzip.NewReader(bytes.NewReader(b))
			if err != nil {
				return nil, err
			}
			r.Multistream(false)
			return io.ReadAll(r)
		}
	} else {
		out["go"] = func(b []byte) ([]byte, error) {
			r, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1))
			if err != nil {
				return nil, err
			}
			defer r.Close()
			return io.ReadAll(r)
		}
	}
	if path, err := exec.LookPath(name); err == nil && testing.Short() == false {
		out[path] = func(b []byte) ([]byte, error) {
			cmd := exec.CommandContext(t.Context(), path, "-dc")
			cmd.Stdin = bytes.NewReader(b)
			return cmd.Output()
		}
	}
	return out
}

// TestBlocksOfManyCompressors: in one body, any blocks of a compressor may follow those of another one.
func TestBlocksOfManyCompressors(t *testing.T) {
	t.Parallel()
	for _, c := range compressions {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for name, decode := range decoders(t, c.name) {
				rng := rand.New(rand.NewPCG(3, 4))
				rounds := 200
				if strings.HasPrefix(name, "/") || race.Enabled {
					rounds = 5
				}
				for range rounds {
					body, want := bodyOfMany(t, c, rng)
					if got, err := decode(body); err != nil || !bytes.Equal(got, want) {
						t.Fatalf("%s: %d bytes of %d, %v", name, len(got), len(want), err)
					}
				}
			}
		})
	}
}

// newTestEncoder returns an encoder that only compresses.
func newTestEncoder(t *testing.T, c *compression) *encoder {
	t.Helper()
	return newEncoder(variant{protocol: forge.Protocol{}, compression: c}, wire.Cursor{}, 0, testMetrics(t))
}

func testMetrics(tb testing.TB) *metrics {
	tb.Helper()
	m, err := newMetrics(prometheus.NewRegistry())
	require.NoError(tb, err)
	return m
}

// bodyOfMany returns a body of several encoders, and its text. Some encoders begin after a bridge; others end with a sync point,
// where the next one continues.
func bodyOfMany(t *testing.T, c *compression, rng *rand.Rand) (body, want []byte) {
	body = append(body, c.head...)
	var sum checksum
	synced := true
	for range 6 {
		e := newTestEncoder(t, c)
		e.pads = false
		from := e.sum
		if !synced {
			body = append(body, e.bridge().data...)
			want = append(want, c.bridgeText...)
		}
		for range 1 + rng.IntN(4) {
			// Periods that are the first offsets of a frame, and others.
			text := make([]byte, 1+rng.IntN(4000))
			period := []int{1, 4, 8, 3, 50}[rng.IntN(5)]
			for i := range text {
				if text[i] = byte('a' + rng.IntN(5)); i >= period && rng.IntN(50) > 0 {
					text[i] = text[i-period]
				}
			}
			b, err := e.write(nil, text)
			require.NoError(t, err)
			body, want = append(body, b...), append(want, text...)
		}
		if synced = rng.IntN(2) == 0; synced {
			c, err := e.sync()
			require.NoError(t, err)
			body, want = append(body, c.data...), append(want, e.compression.bridgeText...)
		}
		sum.extend(from, e.sum)
		e.close()
	}
	return append(body, c.end(sum)...), want
}

// TestBridgeResetsOffsets: after a bridge, a block that begins with repeated offsets finds those of the start of a frame, whatever
// the earlier blocks were.
func TestBridgeResetsOffsets(t *testing.T) {
	t.Parallel()
	var c *compression
	for _, c = range compressions {
		if c.name == "zstd" {
			break
		}
	}
	// Two bytes as they are and one sequence, whose offset is the one used last, or the third of those used last.
	repeat := func(which byte) []byte {
		lits := "xabcdefgh"
		block := append([]byte{byte(len(lits)) << 3}, lits...)
		switch which {
		case 1: // code 0 stands for 1: the offset used last
			block = append(block, 1, 0x54, 9, 0, 0, 1)
		case 3: // code 1 and the bit 1 stand for 3: the third
			block = append(block, 1, 0x54, 9, 1, 0, 3)
		}
		n := len(block)<<3 | 4
		return append([]byte{byte(n), byte(n >> 8), byte(n >> 16)}, block...)
	}
	for which, want := range map[byte]string{1: "xabcdefghhhh", 3: "xabcdefghabc"} {
		e := newTestEncoder(t, c)
		other, err := e.write(nil, []byte(strings.Repeat("some other text ", 20)))
		require.NoError(t, err)
		body := append(append([]byte{}, c.head...), other...)
		body = append(append(append(body, c.bridge...), repeat(which)...), c.tail...)
		for name, decode := range decoders(t, "zstd") {
			got, err := decode(body)
			if err != nil || !strings.HasSuffix(string(got), c.bridgeText+want) {
				t.Errorf("%s: %q, %v, want %q", name, got, err, want)
			}
		}
	}
}
