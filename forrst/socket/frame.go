package socket

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
)

// headerSize is the size of the length before a payload.
const headerSize = 4

var errTooLarge = errors.New("socket: the frame is too large")

// readLength reads the header of a frame.
func readLength(r io.Reader) (int64, error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, err
	}
	return int64(binary.BigEndian.Uint32(header[:])), nil
}

// readFrame reads a frame whose payload has at most limit bytes. The memory grows with what has arrived, not with what the
// header promises. It uses buf, and returns a part of it.
func readFrame(r io.Reader, buf *bytes.Buffer, limit int64) ([]byte, error) {
	length, err := readLength(r)
	if err != nil {
		return nil, err
	}
	if length > limit {
		return nil, errTooLarge
	}
	return readPayload(r, buf, length)
}

func readPayload(r io.Reader, buf *bytes.Buffer, length int64) ([]byte, error) {
	buf.Reset()
	if _, err := io.CopyN(buf, r, length); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// appendFrame appends a frame to buf.
func appendFrame(buf, payload []byte) ([]byte, error) {
	if int64(len(payload)) > math.MaxUint32 {
		return buf, errTooLarge
	}
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(payload))) //nolint:gosec // checked
	return append(buf, payload...), nil
}
