package suggest

import (
	"regexp"
	"strings"
	"sync"
)

// rule turns a sentence into a question that the sentence answers.
type rule struct {
	pattern  *regexp.Regexp
	template string  // with the groups of the pattern: ${1}; the first letter of a group is made lower case where the word is an article
	weight   float64 // how good its questions are, 0..1
}

// grammar holds the rules of a language.
type grammar struct {
	rules    func() []rule
	heading  string          // template of a question about a heading, the last resort
	price    string          // template of a question about the price in a row of a table
	common   map[string]bool // frequent words, by which the language of a text is recognized
	vague    map[string]bool // words that refer to something outside of the question
	articles map[string]bool
	person   *strings.Replacer // makes the reader the asker: "your" becomes "my"
}

// set returns the words of a list.
func set(list string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		out[w] = true
	}
	return out
}

// build returns a function that compiles patterns when it is first called, because that takes some 10 ms. In them {S} is a subject with
// an article, {N} a name, {P} the name of a person, {V} a clause without comma, and {#} a number.
func build(subject string, rows ...[3]any) func() []rule {
	return sync.OnceValue(func() []rule { return compile(subject, rows) })
}

func compile(subject string, rows [][3]any) []rule {
	insert := strings.NewReplacer(
		"{S}", subject,
		"{N}", `\p{Lu}[\pL\pN-]+(?: \p{Lu}[\pL\pN-]+){0,2}`,
		"{P}", `(?:(?:Mr|Mrs|Ms|Dr|Prof|M|Mme|Sr|Sra)\.? |Herr |Frau |Madame |Monsieur |Señora? |\p{Lu}\p{Ll}+ )\p{Lu}\p{Ll}+(?:-\p{Lu}\p{Ll}+)?`,
		"{V}", `[^,;:()"“”„«»]{4,70}?`,
		"{#}", `(?:[€$£] ?)?(?:\d|(?i:two|three|four|five|six|seven|eight|nine|ten|twelve|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|zwölf|deux|trois|quatre|cinq|six|sept|huit|dix|douze|dos|tres|cuatro|cinco|seis|diez|doce)\b)`,
	)
	out := make([]rule, len(rows))
	for i, r := range rows {
		out[i] = rule{regexp.MustCompile(insert.Replace(r[0].(string))), r[1].(string), r[2].(float64)}
	}
	return out
}

var grammars = map[string]*grammar{"en": english, "de": german, "fr": french, "es": spanish}

var english = &grammar{
	rules: build(`(?:The|A|An|Each|Every|Our)(?: [\pL\pN][\pL\pN'’-]*){1,5}?`,
		[3]any{`^To ([a-z]{2,} (?:the|a|an|your|all|one|another|new|several) {V}), `, "How do I ${1}?", 1.0},
		[3]any{`^You can ([a-z]{2,} (?:the|a|an|your|all|another|new) {V}) (?:by|with|using|under|via) `, "How can I ${1}?", 0.95},
		[3]any{`^({S}) costs .*(?:[€$£]|euro|dollar|pound|franc|cent\b|EUR|USD|GBP|CHF)`, "How much does ${1} cost?", 1.0},
		[3]any{`^({S}) cost .*(?:[€$£]|euro|dollar|pound|franc|cent\b|EUR|USD|GBP|CHF)`, "How much do ${1} cost?", 1.0},
		[3]any{`^({S}) (takes|lasts) .*(?:second|minute|hour|day|week|month|year)`, "How long does ${1} take?", 0.95},
		[3]any{`^({S}) (opens|closes|starts|begins|ends) (?:at|on|in) `, "When does ${1} ${2:s}?", 0.95},
		[3]any{`^({S}) (is|are) (?:about |at least |at most |up to )?{#}[^.]*(?:second|minute|hour|day|week|month|year)s?\b`, "How long ${2} ${1}?", 0.9},
		[3]any{`^({S}) (is|are) (?:about |at least |at most |up to )?{#}`, "What ${2} ${1}?", 0.85},
		[3]any{`^({S}) (must|should|has to|have to) be ([a-z]+(?:ed|en)|paid|sent|made|kept|held|told) (?:within|by|before|until|no later) `, "By when ${2} ${1} be ${3}?", 0.95},
		[3]any{`^({S}|{N}) (was|were) (founded|built|adopted|approved|opened|created|introduced|established|published|elected|signed) (?:in|on) `, "When ${2} ${1} ${3}?", 0.95},
		[3]any{`^({S}) (decided|agreed|approved|resolved|elected) `, "What did ${1} ${2:d}?", 0.9},
		[3]any{`^{P} ((?:will|is responsible for|is in charge of|takes|took|reports on|reported on|presents|presented|organi[sz]es|chairs|chaired|looks after) [^,;:()]{6,60}?)(?: (?:by|until|before|from|on) [^.]*)?\.$`, "Who ${1}?", 0.95},
		[3]any{`^({S}|{N}) (is|was|must|cannot|can|should) ([^,;:()]{4,50}?),? because `, "Why ${2} ${1} ${3}?", 0.95},
		[3]any{`^If ((?:the|a|an|you|your|no|there|one|another) {V}), `, "What happens if ${1}?", 0.9},
		[3]any{`^({S}|{N}) is (?:a|an|the|one of|what|where|how) `, "What is ${1}?", 0.8},
		[3]any{`^({S}) (means|describes|denotes) `, "What does ${1} mean?", 0.6},
	),
	heading: "What should I know about “${1}”?", price: "How much is “${1}”?",
	common:   set("the of and to in is that for it with as are be this by an not or from which you"),
	vague:    set("it its this that these those they them their he she his her him we us our there here above below following such same other others latter former then too also both either next previous former above-mentioned one another last rest would each every whole"),
	articles: set("the a an each every our"),
	person:   strings.NewReplacer(" your ", " my ", " you are ", " I am ", " you ", " I ", " yourself", " myself"),
}

var german = &grammar{
	rules: build(`(?:Der|Die|Das|Ein|Eine|Jeder|Jede|Jedes)(?: [\pL\pN][\pL\pN-]*){1,5}?`,
		[3]any{`^Um ({V}) zu ([a-zäöüß]+n), `, "Wie kann ich ${1} ${2}?", 1.0},
		[3]any{`^Um ({V}) ((?:ab|an|auf|aus|bei|ein|her|hin|los|mit|nach|um|vor|weg|zurück|zusammen|fest|frei|weiter|wieder))zu([a-zäöüß]+n), `, "Wie kann ich ${1} ${2}${3}?", 1.0},
		[3]any{`^({S}) (kostet|kosten) .*\d`, "Wie viel ${2} ${1}?", 1.0},
		[3]any{`^({S}) (dauert|dauern) `, "Wie lange ${2} ${1}?", 0.95},
		[3]any{`^({S}) (beginnt|endet|öffnet|schließt|beginnen|enden|öffnen|schließen|startet|tagt) (?:\pL+ )?(?:am|um|im|ab|mit|jeweils|an|zum) `, "Wann ${2} ${1}?", 0.95},
		[3]any{`^({S}) beträgt .*(?:Sekunde|Minute|Stunde|Tag|Woche|Monat|Jahr)`, "Wie lang ist ${1}?", 0.95},
		[3]any{`^({S}) betragen .*(?:Sekunde|Minute|Stunde|Tag|Woche|Monat|Jahr)`, "Wie lang sind ${1}?", 0.95},
		[3]any{`^({S}) beträgt .*{#}`, "Wie hoch ist ${1}?", 0.95},
		[3]any{`^({S}) betragen .*{#}`, "Wie hoch sind ${1}?", 0.95},
		[3]any{`^({S}) (muss|müssen|soll|sollen) (?:[^,.]* )?(?:bis|innerhalb|spätestens|binnen) [^,.]*? ([a-zäöüß]+(?:t|en)) werden\.$`, "Bis wann ${2} ${1} ${3} werden?", 0.95},
		[3]any{`^({S}) (wurde|wurden) [^,]*\d{4}[^,]* ((?:ge|be|er|ver)[a-zäöüß]+(?:t|en)|[a-zäöüß]+iert)\.$`, "Wann ${2} ${1} ${3}?", 0.95},
		[3]any{`^({S}) (?:hat|haben) [^,]* (beschlossen|genehmigt|gewählt|vereinbart)\b`, "Was hat ${1} ${2}?", 0.85},
		[3]any{`^({S}) (beschließt|beschloss|genehmigt|genehmigte|vereinbart|vereinbarte) `, "Was ${2} ${1}?", 0.85},
		[3]any{`^{P} ((?:übernimmt|organisiert|erstellt|bestellt|prüft|leitet|kümmert sich um|berichtet über|ist (?:verantwortlich|zuständig) für) [^,;:()]{4,60}?)\.$`, "Wer ${1}?", 0.95},
		[3]any{`^(?:Wenn|Falls) ((?:der|die|das|ein|eine|kein|keine|sich) {V}), `, "Was passiert, wenn ${1}?", 0.9},
		[3]any{`^({S}|{N}) (ist|sind) (?:ein|eine|einer|eines|der|die|das|alle) `, "Was ${2} ${1}?", 0.85},
	),
	heading: "Was sollte ich über „${1}“ wissen?", price: "Was kostet „${1}“?",
	common:   set("der die und das den von zu mit sich des auf für ist im dem nicht ein eine als auch werden"),
	vague:    set("er es dies diese dieser dieses diesem diesen jene jener jenes dort hier oben unten folgende folgenden solche solcher derselbe dieselbe dasselbe andere anderen wir uns unser unsere sie dabei damit dazu hierzu ihnen ihm letztere du dich"),
	articles: set("der die das ein eine jeder jede jedes"),
	person:   strings.NewReplacer(" Ihr ", " mein ", " Ihre ", " meine ", " Ihren ", " meinen ", " Ihrem ", " meinem ", " Ihres ", " meines ", " Ihrer ", " meiner ", " sich ", " mich "),
}

var french = &grammar{
	rules: build(`(?:(?:Le|La|Les|Un|Une|Chaque) |L['’])[\pL\pN][\pL\pN'’-]*(?: [\pL\pN][\pL\pN'’-]*){0,6}?`,
		[3]any{`^Pour ([a-zéèêàâîïôûç]+(?:er|ir|re) {V}), `, "Comment ${1} ?", 1.0},
		[3]any{`^({S}) (coûte|coûtent) `, "Combien ${2} ${1} ?", 1.0},
		[3]any{`^({S}) (dure|durent) `, "Combien de temps ${2} ${1} ?", 0.95},
		[3]any{`^({S}) (commence|débute|finit|se termine|ouvre|ferme|a lieu|se tient|commencent|ouvrent|ferment) (?:à|au|le|en|du|tous|chaque|dès) `, "Quand ${2} ${1} ?", 0.95},
		[3]any{`^({S}) s['’](élève|élèvent) à `, "À combien s’${2} ${1} ?", 0.95},
		[3]any{`^((?:Le|Un) [\pL\pN][^,;:()]{2,50}?) est (?:de|fixé à) {#}`, "Quel est ${1} ?", 0.9},
		[3]any{`^((?:La|Une) [\pL\pN][^,;:()]{2,50}?) est (?:de|fixée à) {#}`, "Quelle est ${1} ?", 0.9},
		[3]any{`^((?:Le|Un) [\pL\pN][^,;:()]{2,50}?) doit être ([\pL]+é|rendu|remis) (?:avant|dans|au plus tard|sous) `, "Quand ${1} doit-il être ${2} ?", 0.95},
		[3]any{`^((?:La|Une) [\pL\pN][^,;:()]{2,50}?) doit être ([\pL]+ée|rendue|remise) (?:avant|dans|au plus tard|sous) `, "Quand ${1} doit-elle être ${2} ?", 0.95},
		[3]any{`^({S}) a (décidé|approuvé|adopté|voté|élu) `, "Qu’a ${2} ${1} ?", 0.9},
		[3]any{`^{P} ((?:est (?:responsable|chargée?) d|s['’]occupe d|prend|prendra|organise|organisera|présente|présentera|préside)[^,;:()]{4,60}?)\.$`, "Qui ${1} ?", 0.95},
		[3]any{`^Si ((?:le|la|les|un|une|l['’]|vous|aucun|aucune) ?{V}), `, "Que se passe-t-il si ${1} ?", 0.9},
		[3]any{`^(Une? [\pL\pN][^,;:()]{2,40}?) est (?:un|une|le|la|l['’]) ?`, "Qu’est-ce qu’${1} ?", 0.85},
		[3]any{`^((?:Le|La|L['’]) ?[\pL\pN][^,;:()]{2,40}?) est (?:un|une|le|la) `, "Qu’est-ce que ${1} ?", 0.85},
	),
	heading: "Que faut-il savoir sur « ${1} » ?", price: "Combien coûte « ${1} » ?",
	common:   set("le la les de des du et est un une dans pour que qui sur au par avec ne pas sont aux vous"),
	vague:    set("il elle ils elles ce cet cette ces cela ça celui celle ceux ici là leur leurs son sa ses suivant suivants suivante suivantes même mêmes autre autres nous notre nos dont y tel telle tels telles eux lui"),
	articles: set("le la les un une chaque l"),
	person:   strings.NewReplacer(" vos ", " mes "),
}

var spanish = &grammar{
	rules: build(`(?:El|La|Los|Las|Un|Una|Cada) [\pL\pN][\pL\pN-]*(?: [\pL\pN][\pL\pN-]*){0,6}?`,
		[3]any{`^Para ([a-zñáéíóú]+(?:ar|er|ir) {V}), `, "¿Cómo puedo ${1}?", 1.0},
		[3]any{`^({S}) (cuesta|cuestan) `, "¿Cuánto ${2} ${1}?", 1.0},
		[3]any{`^({S}) (dura|duran) `, "¿Cuánto ${2} ${1}?", 0.95},
		[3]any{`^({S}) (comienza|empieza|termina|abre|cierra|comienzan|empiezan|abren|cierran) (?:a|el|en|los|las|cada) `, "¿Cuándo ${2} ${1}?", 0.95},
		[3]any{`^({S}) (asciende|ascienden) a `, "¿A cuánto ${2} ${1}?", 0.95},
		[3]any{`^((?:El|La|Un|Una) [^,;:()]{2,50}?) es de {#}`, "¿Cuál es ${1}?", 0.9},
		[3]any{`^({S}) (decidió|aprobó|acordó|eligió) `, "¿Qué ${2} ${1}?", 0.9},
		[3]any{`^Si ((?:el|la|los|las|un|una|no) {V}), `, "¿Qué ocurre si ${1}?", 0.9},
		[3]any{`^({S}) (es|son) (?:un|una|el|la|los|las) `, "¿Qué ${2} ${1}?", 0.85},
	),
	heading: "¿Qué hay que saber sobre «${1}»?", price: "¿Cuánto cuesta «${1}»?",
	common:   set("el la los las de y en que es un una por con para del se no su al como más"),
	vague:    set("él ella ellos ellas esto este esta estos estas eso ese esa esos esas aquel allí aquí ahí siguiente siguientes mismo misma otro otra otros otras nosotros nuestro nuestra dicho dicha tal tales ello lo les"),
	articles: set("el la los las un una cada"),
	person:   strings.NewReplacer(" su ", " mi ", " sus ", " mis "),
}

// base returns the base form of the verbs that rules change: "opens" as "open", "decided" as "decide".
func base(kind, verb string) string {
	if kind == "s" {
		return strings.TrimSuffix(verb, "s")
	}
	if verb == "elected" {
		return "elect"
	}
	return strings.TrimSuffix(verb, "d")
}
