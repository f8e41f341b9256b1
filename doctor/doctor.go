// Package doctor has what the checks of sluice doctor report. Each engine, such as the database of the records, has a function that checks it and
// returns findings; internal/app calls those of the settings.
package doctor

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

// Finding is what a check has found out about one engine. Its texts hold no password and no key.
type Finding struct {
	Part      string    `json:"part"`   // what Sluice uses it for, such as "log"
	Engine    string    `json:"engine"` // such as "NATS"
	Address   string    `json:"address,omitempty"`
	Version   string    `json:"version,omitempty"`
	RoundTrip float64   `json:"round_trip_ms,omitempty"` // 0: not measured
	Skew      *float64  `json:"clock_skew_ms,omitempty"` // above 0 if its clock is ahead of that of this machine; nil: not measured
	Details   []string  `json:"details,omitempty"`
	Problems  []Problem `json:"problems,omitempty"`
}

// Problem is something that is wrong.
type Problem struct {
	Warning bool   `json:"warning,omitempty"` // everything works, but it should be changed
	Text    string `json:"problem"`
	Fix     string `json:"fix"` // what to do
}

// MaxSkew is how much the clock of an engine may differ. Retention, deadlines, quotas and times of sessions compare the clocks of several machines.
const MaxSkew = time.Second

// Fail adds a problem.
func (f *Finding) Fail(text, fix string) {
	f.Problems = append(f.Problems, Problem{Text: text, Fix: fix})
}

// Warn adds a warning.
func (f *Finding) Warn(text, fix string) {
	f.Problems = append(f.Problems, Problem{Warning: true, Text: text, Fix: fix})
}

// Detail adds a fact.
func (f *Finding) Detail(format string, args ...any) {
	f.Details = append(f.Details, fmt.Sprintf(format, args...))
}

// SetRoundTrip sets how long a request takes.
func (f *Finding) SetRoundTrip(d time.Duration) { f.RoundTrip = milliseconds(d) }

// SetClock sets by how much the clock of the engine is ahead of that of this machine, as a request showed that took roundTrip. A difference above
// [MaxSkew] is a problem.
func (f *Finding) SetClock(skew, roundTrip time.Duration) {
	f.Skew = new(milliseconds(skew))
	if skew.Abs() > MaxSkew+roundTrip/2 {
		f.Fail(fmt.Sprintf("its clock differs by %v from that of this machine", skew.Abs().Round(time.Millisecond)), "synchronize the clocks of both machines, for example with chrony")
	}
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}

// Failed reports whether there is a problem that is not a warning.
func (f *Finding) Failed() bool {
	for _, p := range f.Problems {
		if !p.Warning {
			return true
		}
	}
	return false
}

// Unreachable adds the problem of a failed connection, if the error is one, and reports whether it is. The setting has the address.
func (f *Finding) Unreachable(err error, setting string) bool {
	dns, isDNS := errors.AsType[*net.DNSError](err)
	var text string
	fix := "check the address in " + setting
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		text, fix = "nothing listens at the address", "start the server, or "+fix
	case isDNS:
		text = fmt.Sprintf("the host %s is not known", dns.Name)
	case errors.Is(err, context.DeadlineExceeded), timedOut(err):
		text, fix = "it does not reply", "check that the server runs and that no firewall blocks the connection, or "+fix
	case badCertificate(err):
		text, fix = "its TLS certificate is not valid for this machine: "+err.Error(), "install the certificate of its authority here, or name its file in SSL_CERT_FILE, or "+fix
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		text, fix = "there is no route to the address", "check the network, or "+fix
	default:
		return false
	}
	f.Fail(text, fix)
	return true
}

func timedOut(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}

func badCertificate(err error) bool {
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, host := errors.AsType[x509.HostnameError](err)
	_, invalid := errors.AsType[x509.CertificateInvalidError](err)
	return unknown || host || invalid
}
