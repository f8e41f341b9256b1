package sandbox

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest/parse"
)

// exitMemory is the status of a child that found itself over its limit of memory.
const exitMemory = 3

// keepHeap is how much memory a child keeps from one document to the next.
const keepHeap = 64 << 20

// serve is a child's life: it parses the documents that its parent sends, and ends when the parent closes the pipe or is gone.
func serve(in, out *os.File) error {
	os.Stdout = os.Stderr // what a library prints must not come between replies
	restrict()
	documents := make(chan document)
	var failed error
	var bounded bool
	go func() {
		for {
			d, err := readDocument(in)
			if err != nil {
				os.Exit(0) // also in the middle of a document: nobody waits for it
			}
			documents <- d
		}
	}()
	for d := range documents {
		debug.SetMemoryLimit(d.Memory / 4 * 3) // from there on, collecting garbage comes before speed
		debug.SetGCPercent(200)
		if !bounded {
			limitData(d.Memory)
			bounded = true
		}
		limitCPU(d.Limits.Time)
		parsed := make(chan struct{})
		go watchHeap(d.Memory, parsed)
		kind, body := parseDocument(d)
		close(parsed)
		reply := append(binary.BigEndian.AppendUint64(nil, version), kind)
		reply = binary.BigEndian.AppendUint64(reply, uint64(len(body)))
		reply = binary.BigEndian.AppendUint64(reply, uint64(cpuTime()))
		if failed = writeAll(out, reply, body); failed != nil {
			break
		}
		if inUse() > keepHeap {
			debug.FreeOSMemory()
		}
	}
	return failed
}

// document is a request with its bytes.
type document struct {
	request
	data []byte
}

func readDocument(in io.Reader) (d document, err error) {
	var size [4]byte
	if _, err := io.ReadFull(in, size[:]); err != nil {
		return d, err
	}
	header := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(in, header); err != nil {
		return d, err
	}
	if err := json.Unmarshal(header, &d.request); err != nil {
		return d, fmt.Errorf("read request: %w", err)
	}
	d.data = make([]byte, d.Bytes)
	_, err = io.ReadFull(in, d.data)
	return d, err
}

// parseDocument gives a reply.
func parseDocument(d document) (kind byte, body []byte) {
	if d.Version != version {
		return replyFailed, nil // the parent sees the version of the reply
	}
	p, err := parse.Parse(context.Background(), d.Name, d.data, d.Limits)
	if err == nil {
		return replyParsed, encode(p)
	}
	if errors.Is(err, parse.ErrExhausted) {
		return replyLate, nil
	}
	f := failure{Code: fault.Internal, Message: "it cannot be read"}
	if e, ok := errors.AsType[*fault.Error](err); ok {
		f.Code, f.Message = e.Code, e.Message
	}
	body, _ = json.Marshal(f)
	return replyFailed, body
}

var memoryMetrics = []string{"/memory/classes/total:bytes", "/memory/classes/heap/released:bytes"}

// inUse is the memory that the runtime has mapped and not given back.
func inUse() int64 {
	s := []metrics.Sample{{Name: memoryMetrics[0]}, {Name: memoryMetrics[1]}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}

// watchHeap ends the process when it is over its limit. The parent watches too, where it can; here it is the only watch on some systems.
func watchHeap(most int64, done <-chan struct{}) {
	tick := time.NewTicker(2 * watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			if inUse() > most {
				os.Exit(exitMemory)
			}
		}
	}
}
