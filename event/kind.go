package event

// Kind implements [Body].
func (RunStarted) Kind() Kind { return KindRunStarted }
func (RunStarted) sealed()    {}

// Kind implements [Body].
func (HistorySummarized) Kind() Kind { return KindHistorySummarized }
func (HistorySummarized) sealed()    {}

// Kind implements [Body].
func (QueryAnalyzed) Kind() Kind { return KindQueryAnalyzed }
func (QueryAnalyzed) sealed()    {}

// Kind implements [Body].
func (CacheChecked) Kind() Kind { return KindCacheChecked }
func (CacheChecked) sealed()    {}

// Kind implements [Body].
func (ToolCalled) Kind() Kind { return KindToolCalled }
func (ToolCalled) sealed()    {}

// Kind implements [Body].
func (ToolReturned) Kind() Kind { return KindToolReturned }
func (ToolReturned) sealed()    {}

// Kind implements [Body].
func (RetrievalStarted) Kind() Kind { return KindRetrievalStarted }
func (RetrievalStarted) sealed()    {}

// Kind implements [Body].
func (RetrievalFinished) Kind() Kind { return KindRetrievalFinished }
func (RetrievalFinished) sealed()    {}

// Kind implements [Body].
func (Graded) Kind() Kind { return KindGraded }
func (Graded) sealed()    {}

// Kind implements [Body].
func (Reranked) Kind() Kind { return KindReranked }
func (Reranked) sealed()    {}

// Kind implements [Body].
func (GenerationStarted) Kind() Kind { return KindGenerationStarted }
func (GenerationStarted) sealed()    {}

// Kind implements [Body].
func (Reasoned) Kind() Kind { return KindReasoned }
func (Reasoned) sealed()    {}

// Kind implements [Body].
func (Token) Kind() Kind { return KindToken }
func (Token) sealed()    {}

// Kind implements [Body].
func (Cited) Kind() Kind { return KindCited }
func (Cited) sealed()    {}

// Kind implements [Body].
func (GenerationFinished) Kind() Kind { return KindGenerationFinished }
func (GenerationFinished) sealed()    {}

// Kind implements [Body].
func (Verified) Kind() Kind { return KindVerified }
func (Verified) sealed()    {}

// Kind implements [Body].
func (Attributed) Kind() Kind { return KindAttributed }
func (Attributed) sealed()    {}

// Kind implements [Body].
func (Settled) Kind() Kind { return KindSettled }
func (Settled) sealed()    {}

// Kind implements [Body].
func (ModelUsed) Kind() Kind { return KindModelUsed }
func (ModelUsed) sealed()    {}

// Kind implements [Body].
func (Warned) Kind() Kind { return KindWarned }
func (Warned) sealed()    {}

// Kind implements [Body].
func (RunFinished) Kind() Kind { return KindRunFinished }
func (RunFinished) sealed()    {}

// Kind implements [Body].
func (RunFailed) Kind() Kind { return KindRunFailed }
func (RunFailed) sealed()    {}
