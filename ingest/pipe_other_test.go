//go:build !unix

package ingest_test

import "errors"

func makePipe(string) error { return errors.ErrUnsupported }
