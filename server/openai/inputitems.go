package openai

import (
	"net/http"
	"slices"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/responses"
	"github.com/sluice-rag/sluice/wire/openai"
)

const maxItems = 100 // in a page

// InputItemList is a page of the messages that a response was given.
type InputItemList struct {
	Object  string             `json:"object" enum:"list"`
	Data    []openai.InputItem `json:"data"`
	FirstID string             `json:"first_id" description:"Empty if there are no items."`
	LastID  string             `json:"last_id" description:"Empty if there are no items."`
	HasMore bool               `json:"has_more"`
}

type inputParams struct {
	ID    string `path:"id"`
	Limit int    `query:"limit" minimum:"1" maximum:"100" default:"20"`
	Order string `query:"order" enum:"asc,desc" default:"desc" description:"asc: the oldest item first."`
	After string `query:"after" description:"Id of an item. The list continues after it."`
}

// inputItems lists the messages that a response was given.
func (s *routes) inputItems(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	limit, err := server.IntParam(q, "limit", 20, 1, maxItems)
	if err != nil {
		return err
	}
	start, err := responses.Start(r, s.engine)
	if err != nil {
		return err
	}
	items := openai.InputItems(start)
	switch q.Get("order") {
	case "", "desc":
		slices.Reverse(items)
	case "asc":
	default:
		return fault.Invalid("order", "want asc or desc")
	}
	if after := q.Get("after"); after != "" {
		i := slices.IndexFunc(items, func(item openai.InputItem) bool { return item.ID == after })
		if i < 0 {
			return fault.Invalid("after", "no item of this response has the id")
		}
		items = items[i+1:]
	}
	list := InputItemList{Object: "list", Data: items, HasMore: len(items) > limit}
	list.Data = list.Data[:min(limit, len(items))]
	if n := len(list.Data); n > 0 {
		list.FirstID, list.LastID = list.Data[0].ID, list.Data[n-1].ID
	}
	server.ReplyJSON(w, http.StatusOK, list)
	return nil
}
