package client

import "github.com/sluice-rag/sluice/wire/knowledge"

// The JSON objects of requests and replies of the knowledge service.
type (
	File            = knowledge.File
	FileList        = knowledge.FileList
	Document        = knowledge.Document
	DocumentUpdate  = knowledge.DocumentUpdate
	Content         = knowledge.Content
	Segment         = knowledge.Segment
	SegmentMetadata = knowledge.SegmentMetadata
	Pages           = knowledge.Pages
	Page            = knowledge.Page
	Task            = knowledge.Task

	VectorStore        = knowledge.VectorStore
	VectorStoreList    = knowledge.VectorStoreList
	VectorStoreRequest = knowledge.VectorStoreRequest
	VectorStoreUpdate  = knowledge.VectorStoreUpdate
	VectorStoreSummary = knowledge.VectorStoreSummary
	FileCounts         = knowledge.FileCounts

	SearchRequest    = knowledge.SearchRequest
	SearchPage       = knowledge.SearchPage
	SearchRow        = knowledge.SearchRow
	SearchAttributes = knowledge.SearchAttributes
	SearchText       = knowledge.SearchText

	ResponseSummary = knowledge.ResponseSummary
	ResponseList    = knowledge.ResponseList
	ServerStatus    = knowledge.ServerStatus
)
