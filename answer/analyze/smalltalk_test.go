package analyze_test

import (
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/answer/analyze"
)

func TestSmallTalk(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"thanks":                           "You're welcome.",
		"Thanks!":                          "You're welcome.",
		"Great, thank you very much :)":    "You're welcome.",
		"ok thanks, that was very helpful": "All right.",
		"Hello":                            "Hello.",
		"Hi, how are you?":                 "Hello.",
		"Vielen Dank!":                     "Gern geschehen.",
		"Merci beaucoup":                   "Je vous en prie.",
		"¡Muchas gracias!":                 "De nada.",
		"谢谢！":                              "不客气。",
		"Grazie mille":                     "Prego.",
		"Good night, see you":              "Goodbye.",
		"hello, are you there?":            "Hello.",
		"thanks, that was quick!":          "You're welcome.",
		"Danke dir, das ging schnell!":     "Gern geschehen.",
		"Hola":                             "Hola.",
		"Obrigada, foi muito útil!":        "De nada.",
		"Bedankt, dat was snel":            "Graag gedaan.",
		"Большое спасибо!":                 "Пожалуйста.",
		"Çok teşekkür ederim":              "Rica ederim.",
		"ありがとうございました。":                     "どういたしまして。",
		"你好":                               "您好。",
		"help":                             "I answer questions",
		"Thanks for your help":             "You're welcome.",
		"Danke für die Hilfe":              "Gern geschehen.",
		"Hello! What can you do?":          "I answer questions",
		"Hallo, was kannst du?":            "Ich beantworte Fragen",
		"你能做什么？":                           "我根据您的文档",
	} {
		if question, reply := analyze.SmallTalk(message, false); question != "" || !strings.HasPrefix(reply, want) {
			t.Errorf("%q: %q, want %q", message, reply, want)
		}
	}
	for _, question := range []string{
		"Thanks for the report: who wrote it?", "Hello world", "What is a run?", "thanks, ada", "how are you billed?", "Who says hello?", "nice", "Nice",
		"vale", "great", "ok computer", "Can you help me find the deposit?", "Wer sind sie?", "", "???", "and then?", "again", "what is good", "你好吗的意思是什么", "thanks?giving", "Thanksgiving", "is that all?", "the answer",
		"thank you letter", strings.Repeat("thanks ", 60), "When? Yes",
	} {
		if got, reply := analyze.SmallTalk(question, false); got != question || reply != "" {
			t.Errorf("%q: asks %q, replies %q", question, got, reply)
		}
	}
	for message, want := range map[string]string{
		"Thanks. And when?":                   "And when?",
		"Hello! Who built it? Thanks a lot.":  "Who built it?",
		"Hi there.\nWho built it?\n\nThanks!": "Who built it?",
	} {
		if question, reply := analyze.SmallTalk(message, false); question != want || reply != "" {
			t.Errorf("%q: asks %q, replies %q", message, question, reply)
		}
	}
	for _, message := range []string{"nice", "Great!", "hm ok", "gut, danke", "alles klar, danke", "super, merci", "vale, gracias", "perfetto", "mooi, dank je", "güzel", "oh nice", "that's great", "sehr gut"} {
		if question, reply := analyze.SmallTalk(message, true); question != "" || reply == "" {
			t.Errorf("%q within a conversation: asks %q, replies %q", message, question, reply)
		}
	}
	for _, question := range []string{"and then", "no", "Nice to know: who wrote it?", "again", "and the fine", "and right now", "was this right", "fine for that", "Right?", "stimmt das", "et le super", "is dat goed",
		"y Claro", "and Nice", "Sure, and then", "Fine?"} {
		if got, _ := analyze.SmallTalk(question, true); got == "" {
			t.Errorf("%q within a conversation is no question", question)
		}
	}
}
