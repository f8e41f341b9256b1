package canonical

import "strings"

// synonyms are groups of words that can replace each other in any question. The first word of a group represents it. A group must not change any
// conceivable answer, so words for similar things, kinds, parts and degrees are not synonyms, nor are words that share only one of several
// common senses.
var synonyms = groups(`
film movie|car automobile motorcar|start begin commence|end finish|big large|bigger larger|biggest largest|buy purchase
build construct erect|happen occur|author writer|doctor physician|lawyer attorney|teacher instructor|child kid
help assist|choose select|country nation|photograph photo|fast quick rapid|quickly rapidly swiftly|famous renowned|job occupation
company firm|use utilize|locate situate|television tv|airplane aeroplane|telephone phone|bicycle bike|exam examination
laboratory lab|advertisement advert ad|mathematics math maths|gymnasium gym|influenza flu|kilometer kilometre km|kilogram kg
centimeter centimetre cm|meter metre|liter litre|center centre|theater theatre|fiber fibre|percent percentage pct|favorite favourite
catalog catalogue|dialog dialogue|defense defence|license licence|offense offence|program programme|aluminum aluminium|gray grey
tire tyre|plow plough|check cheque|jewelry jewellery|marry wed|mother mom mum|father dad|grandmother grandma|grandfather grandpa
now currently presently nowadays|approximately roughly|about regarding concerning
difference distinction|illness sickness|ill sick|establish founded|increase rise
improve enhance|allow permit|forbid prohibit|stop cease halt|close shut|rich wealthy|wrong incorrect|defeat beat|agree concur
calculate compute|need require|error mistake|reply respond|sofa couch
mainly primarily mostly chiefly|often frequently|rarely seldom|whole entire|many numerous|almost nearly|maybe perhaps possibly
die perish|kill slay|own possess|live reside dwell|inhabitant resident|gather collect|try attempt|predict forecast|reveal disclose
previous prior|prison jail|cemetery graveyard|baby infant|brave courageous|trip journey|repair fix|information info
refrigerator fridge|result outcome|effect impact|benefit advantage
drawback disadvantage|lady woman|spacecraft spaceship|error mistake|beautiful pretty|buddy pal|freedom liberty
enormous huge|rule govern|travel journey|assume presume|sufficient enough|additional extra|wwii ww2|wwi ww1
`)

// phrases maps phrases to shorter synonyms. The longest match wins.
var phrases = table(`
united states of america=usa|united states=usa|u.s=usa|u.s.a=usa|united kingdom=uk|u.k=uk|chief executive officer=ceo
chief executive=ceo|take place=happen|pass away=die|set up=establish|well known=famous|a lot of=many|lots of=many|in order to=to
at present=now|at the moment=now|right now=now|these days=now|at the present time=now|as well as=and|place of birth=birthplac
date of birth=birthdat|birth place=birthplac|birth date=birthdat|due to=because of|owing to=because of|on account of=because of
prior to=before|kind of=kind of|type of=kind of|sort of=kind of|with regard to=about|with respect to=about|in regard to=about|in relation to=about|world war 2=ww2|world war 1=ww1|world war i=ww1
2th world war=ww2|1th world war=ww1|new york city=nyc|head quarter=headquarters|come to an end=end|bring about=cause
`)

// groups maps the base form of each word to that of the first word of its group.
func groups(text string) map[string]string {
	out := map[string]string{}
	for group := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '|' || r == '\n' }) {
		words := strings.Fields(group)
		for _, w := range words[1:] {
			if _, taken := out[base(w)]; !taken {
				out[base(w)] = base(words[0])
			}
		}
	}
	return out
}

// maxPhrase is the length of the longest phrase, in words.
const maxPhrase = 4

// replaceSynonyms replaces words and phrases by their representatives, in base form.
func replaceSynonyms(words []word) []word {
	for i := range words {
		if w := &words[i]; !w.number() {
			w.text = base(w.text)
		}
	}
	out := make([]word, 0, len(words)+2)
	for i := 0; i < len(words); i++ {
		w, n := words[i], 1
		for k := min(maxPhrase, len(words)-i); k > 0; k-- {
			whole, ok := phrases[strings.Join(texts(words[i:i+k]), " ")]
			if !ok || hasBoundary(words[i:i+k-1]) {
				continue
			}
			first, rest, more := strings.Cut(whole, " ")
			w.text, w.pause, n = first, words[i+k-1].pause, k
			w.possessive = words[i+k-1].possessive
			if w.surface = first; more {
				out = append(out, word{text: first, surface: first, name: w.name})
				w.text, w.surface = rest, rest
			}
			break
		}
		if s, ok := synonyms[w.text]; ok && n == 1 {
			w.text = s
		}
		out = append(out, w)
		i += n - 1
	}
	return out
}

func hasBoundary(words []word) bool {
	for _, w := range words {
		if w.pause || w.possessive {
			return true
		}
	}
	return false
}
