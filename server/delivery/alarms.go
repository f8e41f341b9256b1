package delivery

import (
	"container/heap"
	"sync"
	"sync/atomic"
	"time"
)

// alarms queues streams at given times. It has one timer for all of them. With a timer for each stream, many goroutines would start at once, because the
// heartbeats of many streams are due at the same time.
type alarms struct {
	mu    sync.Mutex
	set   alarmHeap
	timer *time.Timer
	next  time.Time // of the timer; zero: it does not run
}

// alarm is the alarm of a stream. It is guarded by the mutex of alarms. Only the owner of the stream changes the field at, so it may read it without the mutex.
type alarm struct {
	at    time.Time
	place int         // in the heap, counted from 1; 0: it is not there
	on    atomic.Bool // it is in the heap
	taken *taken
}

// alarmHeap is a [heap.Interface] in order of time.
type alarmHeap []*alarm

func (h alarmHeap) Len() int           { return len(h) }
func (h alarmHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }

func (h alarmHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i+1, j+1
}

// Push implements [heap.Interface].
func (h *alarmHeap) Push(x any) {
	a := x.(*alarm)
	*h = append(*h, a)
	a.place = len(*h)
	a.on.Store(true)
}

// Pop implements [heap.Interface].
func (h *alarmHeap) Pop() any {
	n := len(*h) - 1
	a := (*h)[n]
	(*h)[n] = nil
	*h, a.place = (*h)[:n], 0
	a.on.Store(false)
	return a
}

// setBy queues the stream of an alarm at a time or before. An alarm that is set to an earlier time stays: the next step of the stream sets it again.
func (s *alarms) setBy(a *alarm, at time.Time) {
	if a.on.Load() && !at.Before(a.at) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.at = at; a.place == 0 {
		heap.Push(&s.set, a)
	} else {
		heap.Fix(&s.set, a.place-1)
	}
	s.start()
}

// stop removes an alarm. Its stream is no longer queued by it.
func (s *alarms) stop(a *alarm) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.place > 0 {
		heap.Remove(&s.set, a.place-1)
	}
}

// start sets the timer to the first alarm. The caller holds mu.
func (s *alarms) start() {
	if len(s.set) == 0 || !s.next.IsZero() && !s.set[0].at.Before(s.next) {
		return
	}
	s.next = s.set[0].at
	if s.timer == nil {
		s.timer = time.AfterFunc(time.Until(s.next), s.ring)
	} else {
		s.timer.Reset(time.Until(s.next))
	}
}

// ring is called by the timer. It queues the streams whose alarms are due.
func (s *alarms) ring() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for now := time.Now(); len(s.set) > 0 && !s.set[0].at.After(now); {
		heap.Pop(&s.set).(*alarm).taken.post()
	}
	s.next = time.Time{}
	s.start()
}

// close stops the timer.
func (s *alarms) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
}
