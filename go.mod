module github.com/sluice-rag/sluice

go 1.26
