package knowledge

// ModelList lists the models that a question may ask for, in the order in which they are asked.
type ModelList struct {
	Object string  `json:"object" enum:"list"`
	Data   []Model `json:"data"`
}

// Model is one of them.
type Model struct {
	ID      string `json:"id" description:"To be given as model."`
	Object  string `json:"object" enum:"model"`
	Created int64  `json:"created" description:"Always 0: it is not known."`
	OwnedBy string `json:"owned_by"`
}
