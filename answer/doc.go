// Package answer is the pipeline: a question becomes events. It knows nothing of HTTP, protocols or storage: it is given
// a [Recorder], which writes the run's log, and [Run] ends that log exactly once, whatever happens.
package answer
