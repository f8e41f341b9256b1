package proposition

import "github.com/sluice-rag/sluice/lang"

func set(words string) map[string]struct{} { return lang.WordSet(words) }

func has(set map[string]struct{}, w string) bool {
	_, ok := set[w]
	return ok
}

var (
	englishWords = set(`the and that with from his he she it were are this their its they been which these than but when would`)
	alsoEnglish  = set(`a an is was of by in on for at to as or her has had be not`)
	prepositions = set(`in on at from since during for until between under throughout within upon following with despite along
		by after before around through unlike like besides among prior due thanks alongside over across near outside as`)
	clauses = set(`after before when while although though because as once since until if unless whereas according`)
	adverbs = set(`however also later then today eventually thus therefore moreover furthermore additionally afterwards meanwhile soon
		now instead nevertheless finally subsequently originally initially previously currently formerly often sometimes still again here there
		hence consequently nonetheless besides similarly likewise conversely generally usually typically recently shortly together
		indeed overall first second third lastly further alternatively and but so yet`)
	participles = set(`born founded known written built set made held led led begun won sold seen given taken shot drawn sung grown`)
	months      = set(`january february march april may june july august september october november december
		monday tuesday wednesday thursday friday saturday sunday spring summer autumn winter`)
	places    = set(`in at near to toward towards across around through throughout into via within outside inside`)
	particles = set(`of the de la le les du des von van der den di da del della do dos el al bin ibn ap y and for in on at to ter`)
	titles    = set(`mr mrs ms miss dr sir dame lord lady king queen prince princess president pope saint emperor empress captain general
		colonel major professor judge senator bishop archbishop duke duchess count countess earl baron father sister brother`)
	determiners = set(`the a an this that these those your its it them all any each every one two sure no`)
	imperatives = set(`add apply build call change check choose click clone configure copy create define delete do don't download
		edit enable disable ensure enter execute export find follow get give import include install keep leave let link load look make
		move name note open pass please prefer press provide put read remove rename replace return run save see select send set show specify start
		stop store switch take tell test try turn type update upgrade use verify visit wait watch write`)
	copulas     = set(`is was are were became remains remained has`)
	auxiliaries = set(`is was were be been being has had have will would may might can could should must also not`)
	impersonal  = set(`seems seemed appears appeared turns turned follows follow happens happened takes took rained rains snowed`)
	verbs       = set(`is was are were be has had have will would can could may might must should shall does did do
		became becomes began begins came comes goes went got gets took takes made makes gave gives said says saw sees led leads
		held holds left leaves lost loses won wins ran runs wrote writes sang sings sold sells built builds bought brought found founds
		fought fell falls rose rises grew grows knew knows taught teaches met meets set sets stood stands lay lies sat kept keeps
		told tells thought thinks felt feels spent spends sent sends died dies lives lived plays stars features follows contains includes
		provides operates serves covers consists remains offers works uses supports shows produces represents belongs forms needs reads returns allows
		appears contains describes receives requires stores supplies carries depends originates refers
		hosts employs owns causes moves opens closes starts stops ends airs marks borders flows connects links drew draws broke breaks chose spoke wore
		sought struck hit cut put let shot sank swam beat ate drove flew rode sought split spread swept`)
	alias    = set(`also known formerly originally better or aka`)
	between  = set(`also now then never often first later still`)
	stoppers = set(`of in from by for on at to with as who which that whose where when and or but located situated based directed
		written produced known born living held made set within near between under about also published whom built founded led
		starring featuring consisting containing including serving working running owned operated used during since after before
		is was are were has had it its he she his her they their`)
	vague = set(`one part name member first second third most same other result lot subject time case age former latter only`)
	// Nouns that are vague before "of".
	measures = set(`kind type form number example term way set series variety combination group place thing collection branch field
		piece pair range class sort style version system process use area`)
	// Plural nouns after another noun, as in "the band members".
	afterNouns = set(`members headquarters sales rights songs scenes critics directors stars players fans officials employees
		students offices services products workers sessions years times series lyrics credits awards titles owners leaders names`)
	towards  = set(`on to with around about from for that how as between into out up upon together both only`)
	families = []map[string]struct{}{
		set(`song single track tune`), set(`film movie picture documentary short`), set(`album record lp ep compilation soundtrack`),
		set(`book novel novella`), set(`show series programme program sitcom`), set(`company firm corporation`),
		set(`town city village municipality community settlement`), set(`club team side`), set(`band group duo trio quartet quintet`),
		set(`school college university`), set(`magazine publication journal`), set(`ship vessel`),
	}
	groups  = set(`band group team duo trio quartet quintet orchestra choir ensemble club family tribe crew squad`)
	generic = set(`life career biography history legacy death education family works background awards discography filmography reception
		plot personal early later introduction overview summary notes references usage installation features license examples readme
		abstract conclusion contents production release cast characters childhood youth marriage politics views honours honors bibliography
		publications home index about`)
	persons = set(`man woman boy girl person actor actress singer songwriter musician composer writer author poet novelist playwright
		journalist politician lawyer judge physician doctor surgeon scientist physicist chemist mathematician biologist engineer inventor philosopher
		historian economist theologian linguist professor teacher scholar painter sculptor artist architect photographer director filmmaker
		producer screenwriter comedian dancer choreographer model footballer player cricketer golfer boxer swimmer cyclist runner sprinter
		athlete coach manager driver racer wrestler rapper guitarist drummer bassist pianist violinist conductor dj king queen prince princess
		emperor empress duke duchess count countess earl baron lord lady nobleman noblewoman pope bishop archbishop cardinal priest monk nun
		saint missionary preacher pastor rabbi soldier officer general admiral colonel captain commander sailor pilot astronaut cosmonaut
		explorer businessman businesswoman entrepreneur executive banker philanthropist activist diplomat ambassador governor mayor senator president
		minister chancellor premier statesman leader chief founder chairman ceo father mother brother sister son daughter wife husband uncle aunt
		nephew niece cousin grandfather grandmother grandson granddaughter widow heir successor predecessor critic essayist translator editor
		publisher presenter broadcaster host personality designer cartoonist illustrator animator criminal murderer spy rebel revolutionary ruler
		sultan shah khan caliph pharaoh monarch regent lieutenant sergeant attorney jurist researcher psychologist psychiatrist sociologist
		anthropologist archaeologist astronomer botanist zoologist geologist geographer entertainer magician chef farmer merchant
		trader nurse midwife student pupil friend lover goalkeeper striker midfielder defender quarterback pitcher catcher outfielder sportsman
		sportswoman tenor soprano baritone organist cellist saxophonist trumpeter vocalist frontman surveyor settler clergyman
		socialite feminist suffragist academic educator curator librarian antiquarian lexicographer grammarian orator consul tribune knight character protagonist expert specialist consultant servant official keeper`)
	// Nouns for things with the suffix of nouns for persons.
	things = set(`river tower newspaper paper computer center centre theater theatre number order letter layer power chapter border harbor
		harbour corner cluster transmitter processor parameter semester quarter folder container server router browser compiler parser filter
		buffer header footer pointer counter timer helper wrapper handler controller adapter loader builder generator operator vector factor
		sector motor tractor reactor indicator mirror fighter bomber cruiser destroyer carrier steamer freighter helicopter thriller poster cover
		meter diameter crater glacier water butter sweater liqueur beer deer cedar list persist mist twist schist checker linter logger scheduler
		watcher formatter debugger installer emulator simulator library framework toolkit encoder decoder scanner tokenizer lexer renderer
		converter monitor editor iterator allocator translator manager printer reader writer validator connector supplier retailer manufacturer
		provider carrier developer charter banner register cylinder ladder skyscraper bunker boiler trailer scooter roller coaster ferry
		order disorder cancer ulcer fever liver bladder shoulder finger feather fiber fibre timber lumber copper silver amber rubber
		distributor competitor ancestor corridor meteor harbor colour color flavor flavour error doctor`)
	femaleNouns = set(`woman girl actress queen princess empress duchess countess lady noblewoman nun businesswoman mother sister daughter
		wife aunt niece grandmother granddaughter widow midwife sportswoman soprano`)
	maleNouns = set(`man boy king prince emperor duke count earl baron lord nobleman pope monk priest businessman statesman father brother son
		husband uncle nephew grandfather grandson sportsman tenor baritone frontman clergyman sultan shah khan caliph`)
)

// genders maps nouns for persons to their pronouns.
var genders = func() map[string]string {
	m := map[string]string{}
	for w := range femaleNouns {
		m[w] = "she"
	}
	for w := range maleNouns {
		m[w] = "he"
	}
	return m
}()
