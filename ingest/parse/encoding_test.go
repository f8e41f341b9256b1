package parse_test

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"

	"github.com/sluice-rag/sluice/ingest/parse"
)

// TestUnnamedEncodings reads texts of a few sentences, whose encodings are named nowhere.
func TestUnnamedEncodings(t *testing.T) {
	const (
		japaneseText = "港の潮は一日に二回変わります。船は満潮のときに出港し、干潮のときには待ちます。灯台は夜に光ります。"
		chineseText  = "港口的潮水每天变化两次。船在涨潮的时候离开港口，在退潮的时候等待。灯塔在晚上发光，我们可以看到它。"
		taiwanText   = "港口的潮水每天變化兩次。船在漲潮的時候離開港口，在退潮的時候等待。燈塔在晚上發光，我們可以看到它。"
		koreanText   = "항구의 조수는 하루에 두 번 바뀝니다. 배는 밀물 때 항구를 떠나고 썰물 때는 기다립니다. 등대는 밤에 빛납니다."
		russianText  = "Прилив в гавани меняется два раза в день. Корабли выходят из гавани во время прилива и ждут во время отлива. Маяк светит ночью."
		frenchText   = "La marée change deux fois par jour dans le port. Les bateaux partent à marée haute et restent au quai à marée basse; le phare éclaire la côte."
		greekText    = "Η παλίρροια στο λιμάνι αλλάζει δύο φορές την ημέρα. Τα πλοία φεύγουν από το λιμάνι και περιμένουν. Ο φάρος φωτίζει τη νύχτα."
		englishText  = "The tide turns twice a day.\nBoats leave the harbour at high water."
	)
	for name, c := range map[string]struct {
		enc  encoding.Encoding
		text string
	}{
		"Shift JIS":       {japanese.ShiftJIS, japaneseText},
		"EUC-JP":          {japanese.EUCJP, japaneseText},
		"GB18030":         {simplifiedchinese.GB18030, chineseText},
		"Big5":            {traditionalchinese.Big5, taiwanText},
		"EUC-KR":          {korean.EUCKR, koreanText},
		"KOI8-R":          {charmap.KOI8R, russianText},
		"Windows-1251":    {charmap.Windows1251, russianText},
		"Windows-1253":    {charmap.Windows1253, greekText},
		"Latin-1":         {charmap.ISO8859_1, frenchText},
		"Windows-1252":    {charmap.Windows1252, frenchText + " “C’est ça.”"},
		"UTF-16LE":        {unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), englishText},
		"UTF-16BE":        {unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), russianText},
		"UTF-16 with BOM": {unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), japaneseText},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := c.enc.NewEncoder().Bytes([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			p, err := parse.Parse(t.Context(), "a.txt", data, parse.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Blocks[0].Text; strings.ReplaceAll(got, "\n", " ") != strings.ReplaceAll(c.text, "\n", " ") {
				t.Errorf("got %q", got)
			}
		})
	}
}
