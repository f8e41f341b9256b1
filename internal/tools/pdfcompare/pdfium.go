package main

import (
	"fmt"
	"os"
	"time"

	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
)

// pdfium prints the text of a file as PDFium reads it.
func pdfium(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	pool, err := webassembly.Init(webassembly.Config{MinIdle: 1, MaxIdle: 1, MaxTotal: 1})
	if err != nil {
		return err
	}
	in, err := pool.GetInstance(time.Minute)
	if err != nil {
		return err
	}
	doc, err := in.OpenDocument(&requests.OpenDocument{File: &data})
	if err != nil {
		return err
	}
	n, err := in.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: doc.Document})
	if err != nil {
		return err
	}
	for i := range n.PageCount {
		text, err := in.GetPageText(&requests.GetPageText{Page: requests.Page{ByIndex: &requests.PageByIndex{Document: doc.Document, Index: i}}})
		if err != nil {
			continue // a damaged page
		}
		fmt.Println(text.Text)
	}
	return nil
}
