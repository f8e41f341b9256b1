package embedded

import (
	"encoding/binary"

	"github.com/sluice-rag/sluice/corpus"
)

// sentenceRun has the records of the sentences of a passage, in order, whose ids are computed. They are one record, under the row of the first sentence.
type sentenceRun []nestedRecord

// runLevel is the first byte of a run, where other records have their level.
const runLevel = 4

func (run sentenceRun) encode() []byte {
	first := &run[0]
	b := append(make([]byte, 0, 32+8*len(run)), runLevel)
	for _, n := range []uint64{uint64(len(run)), first.up, first.ordinal, first.start} {
		b = binary.AppendUvarint(b, n)
	}
	start, proposed := first.start, uint64(0)
	for i := range run {
		r := &run[i]
		b = binary.AppendUvarint(binary.AppendUvarint(b, r.start-start), r.size)
		start = r.start
		if b = binary.AppendUvarint(b, r.proposition[1]); r.proposition[1] > 0 {
			b = binary.AppendUvarint(b, r.proposition[0]-proposed)
			proposed = r.proposition[0]
		}
		b = appendNumbers(appendNumbers(b, r.pages), r.starts)
	}
	return seal(b)
}

func decodeRun(raw []byte) (sentenceRun, error) {
	d := decoder{rest: raw[1:]}
	run := make(sentenceRun, d.number(len(d.rest)))
	up, ordinal, start, proposed := d.next(), d.next(), d.next(), uint64(0)
	for i := range run {
		n := uint64(i)
		r := &run[i]
		start += d.next()
		*r = nestedRecord{level: corpus.Sentence, up: up + n, ordinal: ordinal + n, start: start, size: d.next()}
		if size := d.next(); size > 0 {
			proposed += d.next()
			r.proposition = [2]uint64{proposed, size}
		}
		r.pages, r.starts = d.numbers(), d.numbers()
		if d.bad = d.bad || start > maxNumber || proposed > maxNumber; d.bad {
			break
		}
	}
	if d.bad || len(run) == 0 || len(d.rest) > 0 {
		return nil, errTruncated
	}
	return run, nil
}

// appendNumbers appends a list of numbers.
func appendNumbers(b []byte, list []int) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, n := range list {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return b
}

func (d *decoder) next() uint64 { return uint64(d.number(maxNumber)) }

// numbers decodes the result of appendNumbers.
func (d *decoder) numbers() (list []int) {
	for range d.number(len(d.rest)) {
		list = append(list, int(d.next()))
	}
	return list
}
