package event

// Payment is how far the payment of a run is.
type Payment int

// The payments.
const (
	Unpaid  Payment = iota // nothing is held or charged
	Held                   // credits are held
	Charged                // the charge was posted
	Voided                 // the hold was released or the charge refunded: nothing can be charged any more, so the run fails
)
