"""Closed lists of words that tell names from ordinary text; English unless said otherwise.

They are kept small on purpose: what a list does not know is decided by the document itself.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STARTERS = _words(
    """
    a about above according across actually additionally after afterward afterwards again against
    ah all almost along already also although always am amid among amongst an and another any
    anyone anything anyway are aren't around as aside at away aw aww back basically be because
    been before behind being below beneath beside besides between beyond both briefly but by bye
    can can't certainly clearly congrats congratulations consequently conversely could couldn't
    currently definitely despite did didn't do does doesn't don't during each earlier either
    else especially even eventually ever every everyone everything evidently exactly except
    fewer finally first firstly following for formerly fortunately from further furthermore
    generally given gonna good gosh gotta great had haha hadn't has hasn't have haven't having he
    he'd he'll he's hello hence her here here's hers herself hey hi him himself his historically
    hmm how how's however i i'd i'll i'm i've if important importantly in indeed initially inside
    instead interestingly into is isn't it it'd it'll it's its itself just last lastly later
    least less let let's like likewise lol look lots mainly many maybe me meanwhile more moreover
    most mostly much must my myself namely near nearly neither never nevertheless next no nobody
    none nonetheless nor normally not notably nothing now nowadays occasionally of off often oh
    ok okay omg on once one ones only onto oops or originally other others otherwise our ours
    ourselves out outside over overall own part partly perhaps please plus presently presumably
    previously primarily probably quite rather recently regardless respectively same secondly
    see seems several shall she she'd she'll she's should shouldn't similarly simply since so
    some somebody someone something sometimes somewhat soon sorry specifically still subsequently
    such supposedly sure surely than thank thanks that that'd that'll that's the their theirs
    them themselves then there there's thereafter therefore these they they'd they'll they're
    they've thirdly this those though three through throughout thus till to today together
    tomorrow tonight too toward towards traditionally true truly two typically ugh under unfortunately
    unless unlike until unto up upon us usually various versus very via wanna was wasn't we we'd
    we'll we're we've well were weren't what what's whatever when when's whenever where where's
    whereas wherever whether which whichever while whilst who who's whoever whole whom whose why
    will wish with within without woah won't wow would wouldn't wrong ya yay yeah yep yes yesterday
    yet you you'd you'll you're you've your yours yourself yup
    absolutely awesome amazing cool nice glad hope hopefully happy honestly literally
    born based known located founded named called including included due
    """
)
"""Words that open a sentence and belong to no name there; also never a name alone."""

COMMON_WORDS = _words(
    """
    abstract access account act action activities activity actor actress adding age agreement air
    album albums algorithm alumni amount analysis ancient animals animation answer appendix
    approaching approximately archaeologists architect area areas arguments army art article
    articles artist artists ask asking assistant attempts attendance attorney author authorities
    authors award awards background bad balance band bands bank base baseball basketball battle
    beautiful beginning believe best better big bill biography birds births bishop black blood
    blue board boat bodies body book books boxing boys brief bring british broadcast brother
    brothers brown building buildings built bus business buy calculations call calling camp
    campaign candidates captain car cards care career cars case cases castle cast cat category
    cathedral cats cause causes cell cells census center central centre century chairman champion
    championship change changes chapter characters check chemical chief child children choose
    church cities citizens city civil class classes click climate club coach coaches coal code
    coffee college colleges come comedian comedy coming command comments commissioner committee
    common communities community companies company compare competition composed composer
    computer concert conclusion conclusions conditions conference construction contact contemporary
    contents continue control cooking copies corporation cost council countries country county
    couple course court create created creating credits crew cricket critical criticism critics
    crossing cultural culture customers daily dance data database date day days death deaths
    debate decades deep definition degree department describe description design designed details
    detective development different digital dinner director directors discography discussion
    disease distance distribution district districts doctor doctors dog dogs doing double drama
    drink drive driver drugs each early earth east eastern eating economic economy editor editors
    education effects effort efforts eight election elections electric elements emperor employees
    end energy engine engineer engineering engineers england enjoy entertainment entry
    environmental episode episodes equipment error errors events everybody evidence example
    examples executive exercise existing expect experience experiments experts explain external
    extra eye eyes facilities facing fact factors failure fair family famous fan fans fantastic
    farm farmers farming fast father favorite feature featured features federal feel feeling
    female fiction field fifth fight fighting figure figures file files film films filming final
    finances find finding fire fish fishing five flight flights floor flowers folk follow food
    football footballer force forces foreign forest forget form former formula fort forward
    foundation four fourth free freedom fresh friend friends front fruit full fun function
    functions funding future gallery game games garden gardening gas gay general genres
    get getting giant girl girls give giving global go goal goals god going gold golf
    government governor grade graduates grand grants grass green ground group groups growing
    growth guess guest guests guide guitar guitarist gun guys half hall hand hands harbor hard
    head heading health hearing heart heat heavy height help helping heritage hero high higher
    highway hiking hill historian historians history hit hockey hold holding holiday home hop
    horror horse horses hospital host hosts hot hotel hour hours house household houses housing
    human humans hundreds ideas identity images imagine immigrants impact improvements
    increased independence independent individual individuals industrial industry influence
    influenced influences information infrastructure input inspired institute institutions insurance
    interest international interviews introduction investigation investors island islands issue
    issues items japan job jobs join joining journal journalist journalists judge judges
    jump junior justice keep keeping key keywords kid kids killed kind king kings kitchen knowledge
    labels lack lake land language languages large larger law lawyer laws lead leader leaders leading
    league learn learning leave leaving left legacy legal legend legends legislation length
    lessons letter letters level library license life light line lines list listen listening lists
    literally literary literature little live lives living local location long looking looks lord
    lose loss lost lot love loving low lower luck lunch lyrics machine magazine main maintenance
    major make making male man management manager managers manufacturers map march mark market
    marketing marriage married mass master match materials math matter mayor mean meaning means
    measurements meat media medical medicine medieval meditation meeting member members membership
    memories men mental message metal method methods middle military million millions mind minister
    ministers minor mission missing model models modern mom moment moments money month months moon
    morning mother motion motor mountain mountains move movement movements movie movies moving
    multiple murder museum museums music musical musician musicians names narrative nation national
    nations native natural nature navy need negative neighbors network networks new news
    night nine nobles noise north northern note notes novel novels nuclear number numbers object
    objects ocean office officer officers officials oil old older online open opened opening
    opera operating operation operations opinion opponents order orders organization organizations
    original output owners page pages paid painter painting paintings pair paper papers parents
    parish park parking parliament participants parties parts party passengers past path patients
    pay peace people percent percentage performance performances perfect period permanent person
    personal personnel phase phone photo photography photos physical physicians piano pick picking
    picture pictures place places plan plane planning plans plant plants play player players
    playing plays plot poems poet poetry poets point points police policies policy political
    politician politicians politics pop popular population port portrait position positive
    possible post power powerful practice prayer predict premier presence present president
    press pressure pretty previous price prices priest prime prince princess principal print prior
    prison private problem problems process processing producer producers product production
    products professional professor program programme programs progress project projects property
    protests provinces provincial public publication publications published publisher publishers
    pupils purchase put putting quality queen question questions quick racing radio rail railway rain
    random rate rates reaching read reader readers reading ready real reality reasons reception
    record recording recordings records red reference references reform regional regions regular
    related relations relationships release released releases religion religious remember remains
    remote report reporter reports representative representatives request required requirements
    research researchers reserve reserves residents resources response responsible rest
    restaurants result results retail retired return returning reviewers reviews revised rice
    right rights river rivers road roads rock role roles room rooms round routes royal rugby ruins
    rule rulers rules run runner running sales sample sand save saw say saying scenes
    school schools science scientific scientist scientists scope score scored sea season seasons
    seating second secret secretary section sections security seeing select self senior sense
    sentence series serious service services session sessions set sets settlement settlers seven
    severe sex shape share she ship ships shooting shop short shortly show showing shows side
    signs silver similar simple singer singers single singles sister sit site sites situated six
    sixth size skills sleep slight small smaller smoke snow social society soft software soil soldiers
    solid solutions song songs sound sounds source sources south southern space speaking special
    species speech speed spend sport sports spring staff stage standard star stars start started
    starting state statements states station stations statistics status stay step stories story
    strange street streets strong student students studies studio study style subject
    subjects success successful suddenly summary summer sun supply support supporters surface
    surprisingly survey survivors symptoms system systems table take taking tales talk talking tall
    tax teacher teachers teaching team teams techniques technology teen television temperature
    temperatures temple ten tennis term terms test testing tests text theatre theme theories
    theory thick thing things think thinking third thought thoughts thousands time times tip tips
    title titles top topics total tour tourism tourist tourists town towns township track tracks
    trade traditional traffic train training trains transport transportation travel traveling trees
    trial tributaries trip troops trust try trying turn turning tv twelve twenty type types unable
    understanding union unique unit units university unknown usage use used user users using
    vacation value values variations vehicles version versions victims video videos view views village
    villages violence visit visiting visitors voice volume vote voters wait walk walking want war
    warm wars watch watching water waves way ways weapons wearing weather website wedding week
    weekend weekly weeks weight west western white widely wife wild wildlife wind windows wine winner
    winners winning winter woman women wonderful wood words work workers working works world
    worth write writer writers writing written year years yoga young youth zero
    adopting agreed allow allowing apart arriving assuming beginning becoming bringing changing
    combining compared concerning considering consisting containing contrary depending described
    determined developed driven encouraged entitled excited expanding faced far feels formed
    forms found gained graduating hearing helped hired hosted impressed inspiring intended
    introduced invited involving joined launched lived made mention met moved originating
    owing owned performed placed played produced proud provided raised recorded regarding
    remained replaced seen sent separate set spanning speaking stationed studied
    succeeding supported surrounded taken thanked upset wanted watched winning wondering
    directed really considered transition got established normal ice initial tough took density
    significant average late cross comparison recent gives tornado nominated makes referred sold
    shot mixing supporting takes worldwide officially relatively active appreciate attention
    additional expression numerous highly respect standing historic featuring felt awarded
    commonly super particularly box largely annual notable locations detailed interesting
    historical filmed stuff enough regarded lately announced tornadoes pre northeast treatment
    eldest ski scheduled acclaimed representing split completed surrounding exciting mixed
    difficult coordinates internationally critically titled constructed lowest ahead performing
    loved lying snowfall challenges staying damage licensed managed reminds frozen ultimately
    worries busy dream nearby lay partially hang lifetime frequently nominations immediately
    vice memory dams organized push losing build introducing incorporated centered decade
    dancing themes chat visual drawing declared formally debt finishing friendship exploring
    epic eleven brands criteria loosely nicknamed ninth specialized capture lucky tons pets
    precipitation attacks spending dedication headquartered portions freezing turns spreading
    occurring affiliated crazy improving describing onset focusing earning registered relief
    creativity scoring challenging widespread popularly sponsored dubbed vocal missed bet
    connecting achieving unusually lasting circle drafted ownership forty tackle hoping
    struggles injuries refined anger democracy safety agricultural treaties ruling impressive
    everywhere desire vibrations latitude daytime speak thirty fuel footage competing judicial
    summers elsewhere purchased guidance trips enjoying adorable dozens killer gaining raising
    checked retiring thunderstorms virtually cherish catch proceeds cassette collectively
    wanting accused wavelength corrupt rescue humidity bars relaxing uplifting practicing
    incorporating swimming cameo specializing administratively hanging searching attending
    investing interpretations invented documented observers athletic trick seasonal dying
    relaxed brave obstacles empowering stepping offseason glider feeder reflections harmony
    unhappy technically localized hurricanes sustained clouds profits naturalized consolidation
    conversations unconditional adapting mentors sending prints colorful tickets bounce reunion
    intent lectures deriving lined pilots scarce fix begun geographically blessed laughter
    confident reflecting admitting ha whoa aha hooray bravo cheers greetings mhm nah nope duh
    ooh shh
    """
)
"""Ordinary words that often open a sentence; a name alone only where the document shows it."""

MONTHS = (
    "january february march april may june july august september october november december"
).split()
WEEKDAYS = _words("monday tuesday wednesday thursday friday saturday sunday")
CALENDAR = (
    WEEKDAYS
    | frozenset(MONTHS)
    | _words("jan feb mar apr jun jul aug sep sept oct nov dec mondays tuesdays wednesdays thursdays")
    | _words("fridays saturdays sundays")
)
"""Months and weekdays; never names alone."""

CONNECTORS = (
    "of the de la las los del della delle di da do dos das du des le les el al van von vom der den"
    " ten ter zu zur av af bin binti ibn ben abu ap ab verch ferch mac y und et & upon -e -ye -i 'n' 'n o'"
).split()
"""Lower-case words inside names."""

TITLES = _words(
    """mr mrs ms miss dr prof professor sir dame lord lady rev reverend fr father sister brother
    saint st pope cardinal archbishop bishop rabbi imam sheikh king queen prince princess emperor
    empress tsar czar sultan duke duchess count countess baron baroness earl president senator
    governor mayor minister chancellor congressman congresswoman judge justice ambassador general
    gen major maj colonel col captain capt lieutenant lt sergeant sgt admiral commander marshal
    madame monsieur mme herr frau señor don doña uncle aunt grandma grandpa coach"""
)
"""Words before a person's name."""

COURTESY = _words("mr mrs ms miss dr prof professor sir mme herr frau")
"""Titles that are no part of the name, even before a single word."""

ROLES = _words(
    """actor actress author director producer writer singer rapper musician composer guitarist
    drummer bassist vocalist songwriter screenwriter novelist poet playwright philosopher
    historian scientist physicist chemist mathematician economist psychologist architect painter
    sculptor photographer politician journalist presenter comedian footballer manager coach
    senator president chairman ceo founder chancellor governor mayor congressman representative
    professor king queen prince princess emperor captain general colonel major lieutenant sergeant
    admiral commander archbishop bishop cardinal pope saint judge justice secretary minister
    ambassador dr mr mrs ms sir dame lord lady"""
)
"""Trades and ranks that precede a full name without being part of it."""

PERSON_NOUNS = _words(
    """actor actress artist author activist administrator admiral ambassador anthropologist
    archaeologist architect aristocrat astronaut astronomer athlete attorney aviator banker baron
    baroness baseballer basketballer bassist biologist bishop botanist boxer broadcaster
    businessman businessperson businesswoman cardinal chancellor chef chemist choreographer
    cinematographer cleric climber coach colonel comedian commander composer conductor consort
    congressman countess cricketer criminal critic cyclist dancer designer detective dictator
    diplomat director dj doctor dramatist driver drummer duchess duke earl economist editor
    educator emperor empress engineer entertainer entrepreneur environmentalist essayist explorer
    farmer feminist fighter filmmaker financier footballer general geographer geologist goalkeeper
    golfer governor guitarist gymnast historian host hurdler illustrator industrialist inventor
    investor journalist judge jurist king lawyer lieutenant linguist magician man marathoner
    mathematician mayor merchant minister missionary model monarch monk murderer musician naturalist
    nobleman noblewoman novelist nun nurse officer orator organist painter performer philanthropist
    philosopher photographer physician physicist pianist pilot pioneer pitcher playback player
    playwright poet politician pope preacher presenter president priest priestess prince princess
    printer producer professor programmer prophet psychiatrist psychologist publisher queen rabbi
    racer rapper reporter researcher revolutionary rower ruler runner sailor saint saxophonist
    scholar scientist screenwriter scriptwriter sculptor senator singer skater skier sociologist
    soldier solicitor songwriter soprano spy sportsman sprinter statesman striker sultan surgeon
    suffragist swimmer teacher theologian theorist trader translator trumpeter tsar umpire
    violinist virologist vocalist warrior wife woman wrestler writer youtuber zoologist wizard"""
)
PLACE_NOUNS = _words(
    """airport area arrondissement atoll avenue bay beach borough bridge canal canton cape capital
    castle cathedral cemetery city coast commune constituency continent country county creek
    desert district division empire estuary forest fort gulf hamlet harbor harbour highway hill
    hospital island islet isthmus kingdom lake locality mountain mountains municipality mosque
    neighborhood neighbourhood oasis oblast ocean palace parish park peak peninsula plateau port
    prefecture principality province railway range region republic reservoir river road sea
    seaport settlement square state station strait street stream suburb temple territory town
    township tributary valley village volcano ward waterfall zone"""
)
ORGANISATION_NOUNS = _words(
    """academy agency airline alliance army association band bank brand broadcaster brewery bureau
    business carmaker chain charity choir church club college commission committee companies
    company conglomerate consortium cooperative corporation council court department developer
    duo ensemble faculty federation firm force foundation franchise group guild government hospital
    institute institution label league legislature library manufacturer ministry movement museum
    newspaper nonprofit operator orchestra order organisation organization parliament party
    publisher quartet retailer school society startup studio subsidiary supergroup team think-tank
    trio union university"""
)
WORK_NOUNS = _words(
    """adaptation album anime anthology autobiography ballad ballet biopic blockbuster book cartoon
    comedy comic composition concerto documentary drama ep episode essay fable film game journal
    magazine manga manuscript memoir miniseries movie musical musical-comedy mystery newspaper
    novel novella opera painting periodical play poem programme program remake romance screenplay
    sculpture sequel serial series show single sitcom song soundtrack sonata story symphony
    telenovela thriller tragedy treatise trilogy video videogame western"""
)
PRODUCT_NOUNS = _words(
    """aircraft app application automobile camera car computer console drug engine framework
    helicopter library locomotive medicine missile motorcycle package phone platform processor
    product programming protocol rifle smartphone software submarine tank toolkit truck vaccine
    vehicle website"""
)

NAME_SUFFIXES = {
    "organisation": _words(
        """inc corp corporation company co ltd llc plc gmbh ag sa bros brothers group holdings
        university college school institute academy association society foundation federation
        council committee commission union party league club band orchestra ensemble choir agency
        bureau department ministry bank airlines airways records pictures studios entertainment
        press newspaper army navy team fc afc cf united museum library hospital church trust fund
        organization organisation laboratory laboratories industries motors systems technologies
        parliament senate congress court brigade regiment division corps guild network"""
    ),
    "place": _words(
        """county river lake mountain mountains island islands city town village state province
        district region parish park bay beach creek valley hill hills street road avenue boulevard
        bridge airport station castle palace square desert forest ocean sea gulf peninsula canal
        cemetery township municipality borough prefecture republic kingdom empire stadium arena
        oblast heights falls springs crossing harbor harbour cathedral temple highway crescent"""
    ),
    "work": _words("symphony trilogy saga chronicles suite concerto sonata song anthem"),
}
"""Last words that tell what a name names."""

PLACE_PREFIXES = _words("lake mount mt fort port river cape san santa santo saint-jean isle gulf bay")
ORGANISATION_PREFIXES = _words(
    "university college institute ministry department bank society academy museum church bureau"
    " association federation faculty school council office board committee"
)

PLACES = _words(
    """africa america asia europe oceania antarctica afghanistan albania algeria argentina armenia
    australia austria azerbaijan bangladesh belarus belgium bolivia brazil britain bulgaria burma
    cambodia cameroon canada chile china colombia croatia cuba cyprus czechoslovakia denmark
    ecuador egypt england estonia ethiopia finland france germany ghana greece guatemala haiti
    holland hungary iceland india indonesia iran iraq ireland israel italy jamaica japan jordan
    kazakhstan kenya korea kuwait latvia lebanon libya lithuania luxembourg malaysia mali malta
    mexico mongolia morocco mozambique myanmar nepal netherlands nicaragua nigeria norway pakistan
    palestine panama paraguay peru philippines poland portugal prussia qatar romania russia rwanda
    scotland senegal serbia singapore slovakia slovenia somalia spain sudan sweden switzerland
    syria taiwan tanzania thailand tibet tunisia turkey uganda ukraine uruguay usa uk venezuela
    vietnam wales yemen yugoslavia zambia zimbabwe
    alabama alaska arizona arkansas california colorado connecticut delaware florida hawaii idaho
    illinois indiana iowa kansas kentucky louisiana maine maryland massachusetts michigan minnesota
    mississippi missouri montana nebraska nevada ohio oklahoma oregon pennsylvania tennessee texas
    utah vermont wisconsin wyoming ontario quebec manitoba bavaria saxony catalonia normandy
    amsterdam athens atlanta baghdad bangkok barcelona beijing berlin boston brussels budapest
    cairo chicago copenhagen dallas delhi detroit dublin edinburgh florence frankfurt geneva
    glasgow hamburg helsinki hollywood houston istanbul jerusalem kiev kolkata lisbon liverpool
    london madrid manchester melbourne miami milan montreal moscow mumbai munich naples oslo paris
    philadelphia prague rome seattle seoul shanghai stockholm sydney tehran tokyo toronto vancouver
    venice vienna warsaw zurich"""
)
"""Well-known places, which are never persons' surnames to be completed."""

FIRST_NAMES = _words(
    """aaron abraham adam ahmed alan albert alec alex alexander alexandra alfred ali alice alison
    allen amanda amy andre andrea andrew angela ann anna anne anthony antonio arthur audrey barbara
    barry ben benjamin bernard beth bill billy bob bobby brandon brian bruce bryan calvin carl
    carlos carol caroline catherine charles charlie charlotte chris christian christina christine
    christopher claire clara clarence claude colin craig cynthia daniel danny david deborah debra
    dennis diana diane dmitri donald dorothy douglas duncan earl edgar edith edmund eduardo edward
    edwin eleanor elena elizabeth ellen emily emma eric ernest eugene eva evelyn felix fernando
    florence frances francis francisco frank franklin fred frederick friedrich gabriel gary geoffrey
    george gerald gilbert giovanni giuseppe glenn gloria gordon grace graham greg gregory guy hannah
    hans harold harry hassan heather heinrich helen henri henry herbert herman howard hugh hugo ian
    igor irene isaac isabel isabella ivan jack jacob jacques james jane janet jason jay jean jeff
    jeffrey jennifer jeremy jerry jesse jessica jim jimmy joan joe johann john johnny jon jonathan
    jordan jorge jose josé joseph joshua juan judith judy julia julian julie justin karen karl kate
    katherine kathleen keith kelly ken kenneth kevin kim kurt larry laura lauren lawrence lee leo
    leon leonard leslie lewis linda lisa louis louise lucy luis luke manuel marc marco margaret
    maria marie marilyn mario mark martha martin mary matthew maurice max melanie melissa michael
    michel michelle miguel mike mohamed mohammad mohammed muhammad nancy natalie nathan neil
    nicholas nick nicole nikolai nina noah norman oliver olivia oscar otto pablo pamela patricia
    patrick paul paula pedro peggy peter philip phillip pierre rachel ralph ray raymond rebecca
    richard rick robert roberto robin rodney roger roland ron ronald rose rosa roy rudolf russell
    ruth ryan sally sam samantha samuel sandra sara sarah scott sean sergei sharon sheila shirley
    sidney simon sophia sophie stanley stefan stella stephanie stephen steve steven stewart stuart
    susan suzanne sylvia ted teresa terry theodore theresa thomas tim timothy todd tom tommy tony
    tracy ursula vera victor victoria vincent virginia vladimir walter warren wayne wendy werner
    wilhelm will willard william willie winston yuri zachary zoe"""
)
"""Common first names; a hint only, shapes and cues decide the rest."""

DEMONYMS = _words(
    """american english british scottish irish welsh french german italian spanish portuguese dutch
    belgian swiss austrian polish czech slovak hungarian romanian bulgarian greek turkish russian
    soviet ukrainian belarusian lithuanian latvian estonian finnish swedish norwegian danish
    icelandic serbian croatian bosnian slovenian albanian macedonian armenian georgian azerbaijani
    israeli jewish arab palestinian lebanese syrian iraqi iranian persian egyptian libyan tunisian
    algerian moroccan sudanese ethiopian kenyan ugandan tanzanian nigerian ghanaian senegalese
    african european asian indian pakistani bangladeshi nepalese nepali chinese japanese korean
    vietnamese thai burmese cambodian indonesian malaysian filipino australian canadian mexican
    cuban jamaican haitian brazilian argentine argentinian chilean peruvian colombian venezuelan
    bolivian ecuadorian latin roman byzantine ottoman muslim christian catholic protestant hindu
    buddhist mongolian tibetan kazakh afghan saudi singaporean taiwanese hispanic bengali tamil
    telugu hindi punjabi malayalam marathi kannada gujarati"""
)
"""Nationalities, languages and creeds, as adjectives."""
