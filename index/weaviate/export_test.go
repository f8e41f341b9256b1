package weaviate

import "time"

// RecheckAfter sets after which time commits are compared with all that replicas have.
func (x *Index) RecheckAfter(d time.Duration) {
	x.write.Lock()
	defer x.write.Unlock()
	x.recheckTime = d
}
