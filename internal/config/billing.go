package config

import "github.com/sluice-rag/sluice/ledger"

// Billing holds the prices of answers and what contributors earn.
type Billing struct {
	Price      []string `name:"price" split:";" placeholder:"PRICE" optional:"" help:"What an answer costs, in credits: the name of a model, in which * stands for any text, and amounts, such as 'gpt-4o-mini base=0.001 second=0.0005 input=0.15 output=0.60'. base is for each answer, second for each second, input and output for a million tokens. The name default stands for all other models, cached for answers from the cache, byok for the caller's own key. Can be repeated. Without a price, answers are free."`
	Share      int      `name:"contributor-share" default:"60" min:"0" max:"100" help:"Share of the fee that the contributors of the documents in the answer earn (percent). The rest is for the platform."`
	HoldInput  int      `name:"hold-input-tokens" default:"50000" min:"1" max:"1000000000" help:"Number of input tokens for which the balance must suffice before an answer begins. An answer never costs more than the balance that was held for it."`
	HoldOutput int      `name:"hold-output-tokens" default:"10000" min:"1" max:"1000000000" help:"Number of output tokens for which the balance must suffice before an answer begins."`
}

// Prices returns Price as a list.
func (b Billing) Prices() (ledger.PriceList, error) { return ledger.ParsePrices(b.Price) }
