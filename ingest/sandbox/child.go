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

// exitMemory is the exit status of a child that detected that it exceeded its memory limit.
const exitMemory = 3

// gcPercent is GOGC of a child. The memory limit bounds the garbage of large documents.
const gcPercent = 400

// maxIdleHeap is the most memory that a child keeps between documents.
const maxIdleHeap = 64 << 20

// serve parses the documents that the parent sends. The process exits when the parent closes the pipe or ends.
func serve(in, out *os.File) error {
	os.Stdout = os.Stderr // output of libraries must not mix with replies
	restrict()
	documents := make(chan document)
	var failed error
	var memory int64 // limit of the document before
	go func() {
		for {
			d, err := readDocument(in)
			if err != nil {
				os.Exit(0) // also while a document is parsed, because nobody waits for it
			}
			documents <- d
		}
	}()
	for d := range documents {
		if memory == 0 {
			limitData(d.Memory)
			debug.SetGCPercent(gcPercent)
		}
		if d.Memory != memory { // both stop the process for a moment
			debug.SetMemoryLimit(d.Memory / 4 * 3) // collect garbage more often above it
			memory = d.Memory
		}
		limitCPU(d.Limits.Time)
		parsed := watchHeap(d.Memory)
		kind, body := parseDocument(d)
		parsed()
		reply := append(binary.BigEndian.AppendUint64(nil, version), kind)
		reply = binary.BigEndian.AppendUint64(reply, uint64(len(body)))
		reply = binary.BigEndian.AppendUint64(reply, uint64(cpuTime()))
		if failed = writeAll(out, reply, body); failed != nil {
			break
		}
		if inUse() > maxIdleHeap {
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

// parseDocument returns the reply for a document.
func parseDocument(d document) (kind byte, body []byte) {
	if d.Version != version {
		return replyFailed, nil // the parent checks the version in the reply header
	}
	p, err := parse.Parse(context.Background(), d.Name, d.data, d.Limits)
	if err == nil {
		return replyParsed, encode(p)
	}
	if errors.Is(err, parse.ErrExhausted) {
		return replyTimeout, nil
	}
	f := failure{Code: fault.Internal, Message: "it cannot be read"}
	if e, ok := errors.AsType[*fault.Error](err); ok {
		f.Code, f.Message, f.Pictures = e.Code, e.Message, errors.Is(err, parse.ErrPictures)
	}
	body, _ = json.Marshal(f)
	return replyFailed, body
}

var memoryMetrics = []string{"/memory/classes/total:bytes", "/memory/classes/heap/released:bytes"}

// inUse returns the memory that the Go runtime has mapped and not returned to the system.
func inUse() int64 {
	s := []metrics.Sample{{Name: memoryMetrics[0]}, {Name: memoryMetrics[1]}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}

// watchHeap exits the process when it exceeds its memory limit before the returned function is called. On systems other than Linux, this is the only check.
func watchHeap(most int64) (stop func()) {
	done := make(chan struct{})
	timer := time.AfterFunc(2*watchEvery, func() { // most documents take less
		tick := time.NewTicker(2 * watchEvery)
		defer tick.Stop()
		for {
			if inUse() > most {
				os.Exit(exitMemory)
			}
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	})
	return func() {
		timer.Stop()
		close(done)
	}
}
