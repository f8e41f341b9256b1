package forrst

// Call is a request document.
type Call struct {
	Protocol Version `json:"protocol" required:"true"`
	ID       string  `json:"id" required:"true" minLength:"1" description:"The reply repeats it."`
	Call     struct {
		Function  string         `json:"function" required:"true" minLength:"1"`
		Version   string         `json:"version,omitempty" description:"A version of the function, complete or short, such as 1. The newest stable one if it is left out."`
		Arguments map[string]any `json:"arguments,omitempty"`
	} `json:"call" required:"true"`
	Context    map[string]any `json:"context,omitempty" description:"Metadata that the caller propagates."`
	Extensions []Asked        `json:"extensions,omitempty"`
}

// Asked is an extension that a call asks for.
type Asked struct {
	URN     string         `json:"urn" required:"true"`
	Options map[string]any `json:"options,omitempty"`
}
