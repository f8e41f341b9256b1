package weaviate

import "time"

// RecheckAfter sets after which time commits are compared with all that replicas have.
func (x *Index) RecheckAfter(d time.Duration) {
	x.write.Lock()
	defer x.write.Unlock()
	x.recheckTime = d
}

// LateFor sets for how long a write that failed may still be carried out.
func (x *Index) LateFor(d time.Duration) {
	x.write.Lock()
	defer x.write.Unlock()
	x.lateTime = d
}

// Late reports whether a write that failed may still be carried out.
func (x *Index) Late() bool {
	x.write.Lock()
	defer x.write.Unlock()
	return x.late()
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

// Erased returns the number of revisions of a collection that a server of Weaviate may still have, although they are erased from most of them.
func (x *Index) Erased(collection string) int {
	x.write.Lock()
	defer x.write.Unlock()
	if h := x.heads[className(collection)]; h != nil {
		return len(h.Erased)
	}
	return 0
}
