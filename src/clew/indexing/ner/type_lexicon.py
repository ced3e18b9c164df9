"""Words that tell what kind of thing a name names; English.

Compact on purpose: they are hints, and most names are known by their place in a sentence.
"""

from __future__ import annotations

from clew.indexing.ner.word_lists import word_list

TITLES = word_list(
    """
    mr mrs ms miss dr prof professor sir dame lord lady rev reverend fr father sister brother
    saint st pope cardinal archbishop bishop rabbi imam sheikh king queen prince princess
    emperor empress tsar czar sultan duke duchess count countess baron baroness earl president
    senator governor mayor minister chancellor congressman congresswoman judge justice
    ambassador general gen major maj colonel col captain capt lieutenant lt sergeant sgt admiral
    commander marshal madame monsieur mme herr frau señor don doña uncle aunt grandma grandpa
    coach
    """
)
"""Words before a person's name."""

COURTESY = word_list("mr mrs ms miss dr prof professor sir mme herr frau")
"""Titles that are no part of the name, even before a single word."""

ROLES = word_list(
    """
    actor actress author director producer writer singer rapper musician composer guitarist
    drummer bassist vocalist songwriter screenwriter novelist poet playwright philosopher
    historian scientist physicist chemist mathematician economist psychologist architect painter
    sculptor photographer politician journalist presenter comedian footballer manager coach
    senator president chairman ceo founder chancellor governor mayor congressman representative
    professor king queen prince princess emperor captain general colonel major lieutenant
    sergeant admiral commander archbishop bishop cardinal pope saint judge justice secretary
    minister ambassador dr mr mrs ms sir dame lord lady
    """
)
"""Trades and ranks that precede a full name without being part of it."""

PERSON_NOUNS = word_list(
    """
    actor actress artist author activist administrator admiral ambassador anthropologist
    archaeologist architect aristocrat astronaut astronomer athlete attorney aviator banker
    baron baroness baseballer basketballer bassist biologist bishop botanist boxer broadcaster
    businessman businessperson businesswoman cardinal chancellor chef chemist choreographer
    cinematographer cleric climber coach colonel comedian commander composer conductor consort
    congressman countess cricketer criminal critic cyclist dancer designer detective dictator
    diplomat director dj doctor dramatist driver drummer duchess duke earl economist editor
    educator emperor empress engineer entertainer entrepreneur environmentalist essayist
    explorer farmer feminist fighter filmmaker financier footballer general geographer geologist
    goalkeeper golfer governor guitarist gymnast historian host hurdler illustrator
    industrialist inventor investor journalist judge jurist king lawyer lieutenant linguist
    magician man marathoner mathematician mayor merchant minister missionary model monarch monk
    murderer musician naturalist nobleman noblewoman novelist nun nurse officer orator organist
    painter performer philanthropist philosopher photographer physician physicist pianist pilot
    pioneer pitcher playback player playwright poet politician pope preacher presenter president
    priest priestess prince princess printer producer professor programmer prophet psychiatrist
    psychologist publisher queen rabbi racer rapper reporter researcher revolutionary rower
    ruler runner sailor saint saxophonist scholar scientist screenwriter scriptwriter sculptor
    senator singer skater skier sociologist soldier solicitor songwriter soprano spy sportsman
    sprinter statesman striker sultan surgeon suffragist swimmer teacher theologian theorist
    trader translator trumpeter tsar umpire violinist virologist vocalist warrior wife woman
    wrestler writer youtuber zoologist wizard
    """
)
PLACE_NOUNS = word_list(
    """
    airport area arrondissement atoll avenue bay beach borough bridge canal canton cape capital
    castle cathedral cemetery city coast commune constituency continent country county creek
    desert district division empire estuary forest fort gulf hamlet harbor harbour highway hill
    hospital island islet isthmus kingdom lake locality mountain mountains municipality mosque
    neighborhood neighbourhood oasis oblast ocean palace parish park peak peninsula plateau port
    prefecture principality province railway range region republic reservoir river road sea
    seaport settlement square state station strait street stream suburb temple territory town
    township tributary valley village volcano ward waterfall zone
    """
)
ORGANISATION_NOUNS = word_list(
    """
    academy agency airline alliance army association band bank brand broadcaster brewery bureau
    business carmaker chain charity choir church club college commission committee companies
    company conglomerate consortium cooperative corporation council court department developer
    duo ensemble faculty federation firm force foundation franchise group guild government
    hospital institute institution label league legislature library manufacturer ministry
    movement museum newspaper nonprofit operator orchestra order organisation organization
    parliament party publisher quartet retailer school society startup studio subsidiary
    supergroup team think-tank trio union university
    """
)
WORK_NOUNS = word_list(
    """
    adaptation album anime anthology autobiography ballad ballet biopic blockbuster book cartoon
    comedy comic composition concerto documentary drama ep episode essay fable film game journal
    magazine manga manuscript memoir miniseries movie musical musical-comedy mystery newspaper
    novel novella opera painting periodical play poem programme program remake romance
    screenplay sculpture sequel serial series show single sitcom song soundtrack sonata story
    symphony telenovela thriller tragedy treatise trilogy video videogame western
    """
)
PRODUCT_NOUNS = word_list(
    """
    aircraft app application automobile camera car computer console drug engine framework
    helicopter library locomotive medicine missile motorcycle package phone platform processor
    product programming protocol rifle smartphone software submarine tank toolkit truck vaccine
    vehicle website
    """
)

NAME_SUFFIXES = {
    "organisation": word_list(
        """
    inc corp corporation company co ltd llc plc gmbh ag sa bros brothers group holdings
    university college school institute academy association society foundation federation
    council committee commission union party league club band orchestra ensemble choir agency
    bureau department ministry bank airlines airways records pictures studios entertainment
    press newspaper army navy team fc afc cf united museum library hospital church trust fund
    organization organisation laboratory laboratories industries motors systems technologies
    parliament senate congress court brigade regiment division corps guild network
    """
    ),
    "place": word_list(
        """
    county river lake mountain mountains island islands city town village state province
    district region parish park bay beach creek valley hill hills street road avenue boulevard
    bridge airport station castle palace square desert forest ocean sea gulf peninsula canal
    cemetery township municipality borough prefecture republic kingdom empire stadium arena
    oblast heights falls springs crossing harbor harbour cathedral temple highway crescent
    """
    ),
    "work": word_list("symphony trilogy saga chronicles suite concerto sonata song anthem"),
}
"""Last words that tell what a name names."""

PLACE_PREFIXES = word_list(
    "lake mount mt fort port river cape san santa santo saint-jean isle gulf bay"
)
ORGANISATION_PREFIXES = word_list(
    "university college institute ministry department bank society academy museum church bureau"
    " association federation faculty school council office board committee"
)

PLACES = word_list(
    """
    africa america asia europe oceania antarctica afghanistan albania algeria argentina armenia
    australia austria azerbaijan bangladesh belarus belgium bolivia brazil britain bulgaria
    burma cambodia cameroon canada chile china colombia croatia cuba cyprus czechoslovakia
    denmark ecuador egypt england estonia ethiopia finland france germany ghana greece guatemala
    haiti holland hungary iceland india indonesia iran iraq ireland israel italy jamaica japan
    jordan kazakhstan kenya korea kuwait latvia lebanon libya lithuania luxembourg malaysia mali
    malta mexico mongolia morocco mozambique myanmar nepal netherlands nicaragua nigeria norway
    pakistan palestine panama paraguay peru philippines poland portugal prussia qatar romania
    russia rwanda scotland senegal serbia singapore slovakia slovenia somalia spain sudan sweden
    switzerland syria taiwan tanzania thailand tibet tunisia turkey uganda ukraine uruguay usa
    uk venezuela vietnam wales yemen yugoslavia zambia zimbabwe alabama alaska arizona arkansas
    california colorado connecticut delaware florida hawaii idaho illinois indiana iowa kansas
    kentucky louisiana maine maryland massachusetts michigan minnesota mississippi missouri
    montana nebraska nevada ohio oklahoma oregon pennsylvania tennessee texas utah vermont
    wisconsin wyoming ontario quebec manitoba bavaria saxony catalonia normandy amsterdam athens
    atlanta baghdad bangkok barcelona beijing berlin boston brussels budapest cairo chicago
    copenhagen dallas delhi detroit dublin edinburgh florence frankfurt geneva glasgow hamburg
    helsinki hollywood houston istanbul jerusalem kiev kolkata lisbon liverpool london madrid
    manchester melbourne miami milan montreal moscow mumbai munich naples oslo paris
    philadelphia prague rome seattle seoul shanghai stockholm sydney tehran tokyo toronto
    vancouver venice vienna warsaw zurich
    """
)
"""Well-known places, which are never persons' surnames to be completed."""

FIRST_NAMES = word_list(
    """
    aaron abraham adam ahmed alan albert alec alex alexander alexandra alfred ali alice alison
    allen amanda amy andre andrea andrew angela ann anna anne anthony antonio arthur audrey
    barbara barry ben benjamin bernard beth bill billy bob bobby brandon brian bruce bryan
    calvin carl carlos carol caroline catherine charles charlie charlotte chris christian
    christina christine christopher claire clara clarence claude colin craig cynthia daniel
    danny david deborah debra dennis diana diane dmitri donald dorothy douglas duncan earl edgar
    edith edmund eduardo edward edwin eleanor elena elizabeth ellen emily emma eric ernest
    eugene eva evelyn felix fernando florence frances francis francisco frank franklin fred
    frederick friedrich gabriel gary geoffrey george gerald gilbert giovanni giuseppe glenn
    gloria gordon grace graham greg gregory guy hannah hans harold harry hassan heather heinrich
    helen henri henry herbert herman howard hugh hugo ian igor irene isaac isabel isabella ivan
    jack jacob jacques james jane janet jason jay jean jeff jeffrey jennifer jeremy jerry jesse
    jessica jim jimmy joan joe johann john johnny jon jonathan jordan jorge jose josé joseph
    joshua juan judith judy julia julian julie justin karen karl kate katherine kathleen keith
    kelly ken kenneth kevin kim kurt larry laura lauren lawrence lee leo leon leonard leslie
    lewis linda lisa louis louise lucy luis luke manuel marc marco margaret maria marie marilyn
    mario mark martha martin mary matthew maurice max melanie melissa michael michel michelle
    miguel mike muhammad nancy natalie nathan neil nicholas nick
    nicole nikolai nina noah norman oliver olivia oscar otto pablo pamela patricia patrick paul
    paula pedro peggy peter philip phillip pierre rachel ralph ray raymond rebecca richard rick
    robert roberto robin rodney roger roland ron ronald rose rosa roy rudolf russell ruth ryan
    sally sam samantha samuel sandra sara sarah scott sean sergei sharon sheila shirley sidney
    simon sophia sophie stanley stefan stella stephanie stephen steve steven stewart stuart
    susan suzanne sylvia ted teresa terry theodore theresa thomas tim timothy todd tom tommy
    tony tracy ursula vera victor victoria vincent virginia vladimir walter warren wayne wendy
    werner wilhelm will willard william willie winston yuri zachary zoe
    """
)
"""Common first names; a hint only, shapes and cues decide the rest."""

DEMONYMS = word_list(
    """
    american english british scottish irish welsh french german italian spanish portuguese dutch
    belgian swiss austrian polish czech slovak hungarian romanian bulgarian greek turkish
    russian soviet ukrainian belarusian lithuanian latvian estonian finnish swedish norwegian
    danish icelandic serbian croatian bosnian slovenian albanian macedonian armenian georgian
    azerbaijani israeli jewish arab palestinian lebanese syrian iraqi iranian persian egyptian
    libyan tunisian algerian moroccan sudanese ethiopian kenyan ugandan tanzanian nigerian
    ghanaian senegalese african european asian indian pakistani bangladeshi nepalese nepali
    chinese japanese korean vietnamese thai burmese cambodian indonesian malaysian filipino
    australian canadian mexican cuban jamaican haitian brazilian argentine argentinian chilean
    peruvian colombian venezuelan bolivian ecuadorian latin roman byzantine ottoman muslim
    christian catholic protestant hindu buddhist mongolian tibetan kazakh afghan saudi
    singaporean taiwanese hispanic bengali tamil telugu hindi punjabi malayalam marathi kannada
    gujarati
    """
)
"""Nationalities, languages and creeds, as adjectives."""
