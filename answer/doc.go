// Package answer answers a question and records its events. It does not know HTTP, protocols or storage: a [Recorder] writes the
// run's log, and [Run] ends that log exactly once, whatever happens.
package answer
