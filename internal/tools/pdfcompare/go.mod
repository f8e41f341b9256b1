module github.com/sluice-rag/sluice/internal/tools/pdfcompare

go 1.26.0

require (
	github.com/klippa-app/go-pdfium v1.21.4
	golang.org/x/net v0.59.0
	golang.org/x/text v0.43.0
)

require (
	github.com/google/uuid v1.6.0 // indirect
	github.com/jolestar/go-commons-pool/v2 v2.1.2 // indirect
	github.com/tetratelabs/wazero v1.12.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
)
