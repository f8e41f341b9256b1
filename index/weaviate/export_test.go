package weaviate

import "time"

// RecheckAfter sets after which time commits are compared with all that replicas have.
func (x *Index) RecheckAfter(d time.Duration) {
	x.write.Lock()
	defer x.write.Unlock()
	x.recheckTime = d
}

// Ahead makes all commits of x so far as late as if its clock were ahead by d.
func (x *Index) Ahead(d time.Duration) {
	x.write.Lock()
	defer x.write.Unlock()
	for _, changed := range x.changed {
		for k := range changed {
			changed[k] += d.Microseconds()
		}
	}
}
