package natslog_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/eventlog/eventlogtest"
	"github.com/sluice-rag/sluice/eventlog/natslog"
	"github.com/sluice-rag/sluice/natsconn/natstest"
)

// each returns a function that opens a log of another tenant at each call.
func each(urls string) func(t *testing.T) eventlog.Store {
	var n atomic.Int64
	return func(t *testing.T) eventlog.Store {
		return open(t, urls, natslog.Options{Tenant: fmt.Sprintf("t%d", n.Add(1))})
	}
}

func TestStore(t *testing.T) { eventlogtest.TestStore(t, each(natstest.New(t).URL())) }

func TestStoreInCluster(t *testing.T) { eventlogtest.TestStore(t, each(natstest.NewCluster(t).URL())) }
