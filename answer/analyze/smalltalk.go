package analyze

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/lang"
)

// smallTalk holds, for each language, phrases that are no question, and filler words. The phrases are in the order of the
// replies: thanks, greetings, farewells, acknowledgements.
var smallTalk = []talk{
	{[4]string{"thanks, thank you, thx, much appreciated", "hello, hi, hey, good morning, good afternoon, good evening, how are you, how do you do",
		"bye, goodbye, good night, see you, see you later", "ok, okay, got it, i see, understood, well done"},
		"a again all and answer answers awesome cheers cool dear everyone excellent folks for good great helpful help helped i it just lot nice perfect wonderful many much now oh so that that's the then there this very was well you your",
		[4]string{"You're welcome.", "Hello. What would you like to know from these documents?", "Goodbye.", "All right."}},
	{[4]string{"danke, dankeschön, danke schön, vielen dank, besten dank, herzlichen dank", "hallo, guten tag, guten morgen, guten abend, grüß gott, wie geht es dir, wie geht es ihnen, wie geht's",
		"tschüss, auf wiedersehen, gute nacht, bis bald", "alles klar, verstanden, in ordnung"},
		"alle antwort auch das prima super toll perfekt dein deine die dir euch für hilfe ihnen ihre noch sehr und war zusammen",
		[4]string{"Gern geschehen.", "Hallo. Was möchten Sie aus diesen Dokumenten wissen?", "Auf Wiedersehen.", "In Ordnung."}},
	{[4]string{"merci, merci beaucoup, merci bien, mille mercis", "bonjour, bonsoir, salut, comment allez-vous, comment ça va, ça va",
		"au revoir, bonne nuit, à bientôt", "d'accord, compris, très bien"},
		"aide à parfait super beaucoup de et la le les pour réponse tous tout votre vous",
		[4]string{"Je vous en prie.", "Bonjour. Que voulez-vous savoir de ces documents ?", "Au revoir.", "D'accord."}},
	{[4]string{"gracias, muchas gracias, mil gracias", "hola, buenos días, buenas tardes, buenas noches, qué tal, cómo estás", "adiós, hasta luego, hasta pronto",
		"entendido, de acuerdo, muy bien"},
		"a ayuda vale perfecto genial de la por respuesta su tu todo todos tu y",
		[4]string{"De nada.", "Hola. ¿Qué quiere saber de estos documentos?", "Adiós.", "De acuerdo."}},
	{[4]string{"grazie, grazie mille, molte grazie, tante grazie", "ciao, buongiorno, buonasera, come stai, come va", "arrivederci, buonanotte, a presto", "va bene, capito, d'accordo"},
		"a aiuto perfetto di e l' la per risposta tutti tutto",
		[4]string{"Prego.", "Buongiorno. Che cosa vuole sapere da questi documenti?", "Arrivederci.", "Va bene."}},
	{[4]string{"obrigado, obrigada, muito obrigado, muito obrigada", "olá, oi, bom dia, boa tarde, boa noite, tudo bem", "tchau, adeus, até logo", "entendi, está bem"},
		"a ajuda certo perfeito e o pela resposta todos tudo", [4]string{"De nada.", "Olá. O que quer saber destes documentos?", "Adeus.", "Está bem."}},
	{[4]string{"bedankt, dank je, dank u, dank je wel, dank u wel, hartelijk dank", "hallo, hoi, goedemorgen, goedemiddag, goedenavond, hoe gaat het", "doei, tot ziens, welterusten", "oké, begrepen"},
		"allemaal prima antwoord de en het hulp je uw voor zeer", [4]string{"Graag gedaan.", "Hallo. Wat wilt u uit deze documenten weten?", "Tot ziens.", "Oké."}},
	{[4]string{"谢谢, 谢谢你, 谢谢您, 多谢, 感谢, 非常感谢", "你好, 您好, 大家好, 早上好, 下午好, 晚上好", "再见, 晚安, 拜拜", "好的, 明白了, 知道了, 好"},
		"", [4]string{"不客气。", "您好。您想从这些文档中了解什么？", "再见。", "好的。"}},
}

type talk struct {
	phrases [4]string // separated by commas
	fillers string
	replies [4]string
}

// maxSmallTalk is the maximum length of a sentence of small talk, in bytes.
const maxSmallTalk = 120

// SmallTalk splits a message into a question and, if it has none, a reply. Sentences at its start and end that consist of
// phrases and filler words of one language are dropped. Any other word makes a sentence part of the question: "Thanks for
// the report: who wrote it?" In a sentence with a question mark, only phrases are dropped.
func SmallTalk(message string) (question, reply string) {
	sentences := lang.Sentences(lang.Truncate(message, maxRead))
	first, last := 0, len(sentences)
	for ; first < last; first++ {
		s := sentences[first]
		said, ok := replyTo(message[s.Start:s.End])
		if !ok {
			break
		}
		reply = cmp.Or(reply, said)
	}
	if first == last {
		if reply == "" {
			return message, ""
		}
		return "", reply
	}
	for ; last > first+1; last-- {
		s := sentences[last-1]
		if _, ok := replyTo(message[s.Start:s.End]); !ok {
			break
		}
	}
	if first == 0 && last == len(sentences) {
		return message, ""
	}
	end := len(message)
	if last < len(sentences) {
		end = sentences[last-1].End
	}
	return message[sentences[first].Start:end], ""
}

func replyTo(sentence string) (reply string, ok bool) {
	if len(sentence) > maxSmallTalk {
		return "", false
	}
	words := spoken(sentence)
	asks := strings.ContainsAny(sentence, "?？")
	for _, l := range smallTalk {
		if kind := l.kind(words, !asks); kind >= 0 {
			return l.replies[kind], true
		}
	}
	return "", false
}

func spoken(s string) []string {
	var out []string
	for _, w := range lang.Words(s) {
		out = append(out, w.Text)
	}
	return out
}

// kind returns the kind of the first phrase if all words are phrases or, if fillers is set, filler words; otherwise -1.
func (t talk) kind(words []string, fillers bool) int {
	first := -1
	for len(words) > 0 {
		n, kind := t.longest(words)
		switch {
		case n > 0 && first < 0:
			first = kind
		case n > 0:
		case fillers && slices.Contains(strings.Fields(t.fillers), words[0]):
			n = 1
		default:
			return -1
		}
		words = words[n:]
	}
	return first
}

// longest returns the length in words, and the kind, of the longest phrase at the start of the words.
func (t talk) longest(words []string) (n, kind int) {
	for k, phrases := range t.phrases {
		for phrase := range strings.SplitSeq(phrases, ", ") {
			if p := spoken(phrase); len(p) > n && len(p) <= len(words) && slices.Equal(p, words[:len(p)]) {
				n, kind = len(p), k
			}
		}
	}
	return n, kind
}
