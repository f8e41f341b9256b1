package filelog

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/event"
)

func TestFailedSync(t *testing.T) {
	for name, damage := range map[string]bool{"records can be read back": false, "records are damaged": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l, err := Open(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			es := []event.Event{{Seq: 1, At: at, Body: event.RunStarted{Run: "r", Query: "why?"}}, {Seq: 2, At: at, Body: event.RunFinished{}}}
			if err := l.Append(context.Background(), "r", es[0]); err != nil {
				t.Fatal(err)
			}
			if damage {
				f, err := os.OpenFile(segmentPath(dir, 1), os.O_WRONLY, 0)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := f.WriteAt([]byte("x"), headBytes+3); err != nil {
					t.Fatal(err)
				}
				_ = f.Close()
			}
			done := make(chan struct{})
			l.do <- func() {
				l.endSync(errors.New("input/output error"))
				close(done)
			}
			<-done
			err = l.Append(context.Background(), "r", es[1])
			if damage != (err != nil) || damage != (l.Err() != nil) {
				t.Errorf("append after a failed sync: %v; the log reports %v", err, l.Err())
			}
			if cerr := l.Close(); damage != (cerr != nil) {
				t.Errorf("close: %v", cerr)
			}
		})
	}
}
