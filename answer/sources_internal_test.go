package answer

import "testing"

// TestWordsOfNames checks that whole words of a name are compared with those of the title, and that names without meaning have none.
func TestWordsOfNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"preise-eu.md": "eu", "Neue Preise.txt": "", "preise_2031.v2.csv": "2031 v2", "": "", ".md": "",
		"Release 2.0 notes": "Release 2 0 notes", "notes-v2.0": "notes v2 0", "lied.mp3": "lied", "archiv.7z": "archiv", "facade.pdf": "facade", "20310504-rechnung.pdf": "20310504 rechnung",
		"IMG_1234.jpg": "", "scan0001.pdf": "", "Scan 2031-05-04.pdf": "", "Document (1).docx": "", "scanner-manual.pdf": "scanner manual",
		"3f2b8c1e-2031-4d5e-9abc-0123456789ab.pdf": "", "rechnung-3f2b8c1e-2031-4d5e-9abc-0123456789ab.pdf": "rechnung", "bericht-0a1b2c3d4e.pdf": "bericht", "0123456789abcdef": "",
	} {
		if got := nameWords(name, "Neue Preise"); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
