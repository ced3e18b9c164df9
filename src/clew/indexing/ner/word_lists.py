"""Closed lists of words that tell names from ordinary text; English unless said otherwise.

They are kept small on purpose: what a list does not know is decided by the document itself.
"""

from __future__ import annotations

from clew.times.names import MONTH


def word_list(text: str) -> frozenset[str]:
    """The words of a list that is written as text."""
    return frozenset(text.split())


STARTERS = word_list(
    """
    a about above according across actually additionally after afterward afterwards again
    against ah all almost along already also although always am amid among amongst an and
    another any anyone anything anyway are aren't around as aside at away aw aww back basically
    be because been before behind being below beneath beside besides between beyond both briefly
    but by bye can can't certainly clearly congrats congratulations consequently conversely
    could couldn't currently definitely despite did didn't do does doesn't don't during each
    earlier either else especially even eventually ever every everyone everything evidently
    exactly except fewer finally first firstly following for formerly fortunately from further
    furthermore generally given gonna good gosh gotta great had haha hadn't has hasn't have
    haven't having he he'd he'll he's hello hence her here here's hers herself hey hi him
    himself his historically hmm how how's however i i'd i'll i'm i've if important importantly
    in indeed initially inside instead interestingly into is isn't it it'd it'll it's its itself
    just last lastly later least less let let's like likewise lol look lots mainly many maybe me
    meanwhile more moreover most mostly much must my myself namely near nearly neither never
    nevertheless next no nobody none nonetheless nor normally not notably nothing now nowadays
    occasionally of off often oh ok okay omg on once one ones only onto oops or originally other
    others otherwise our ours ourselves out outside over overall own part partly perhaps please
    plus presently presumably previously primarily probably quite rather recently regardless
    respectively same secondly see seems several shall she she'd she'll she's should shouldn't
    similarly simply since so some somebody someone something sometimes somewhat soon sorry
    specifically still subsequently such supposedly sure surely than thank thanks that that'd
    that'll that's the their theirs them themselves then there there's thereafter therefore
    these they they'd they'll they're they've thirdly this those though three through throughout
    thus till to today together tomorrow tonight too toward towards traditionally true truly two
    typically ugh under unfortunately unless unlike until unto up upon us usually various versus
    very via wanna was wasn't we we'd we'll we're we've well were weren't what what's whatever
    when when's whenever where where's whereas wherever whether which whichever while whilst who
    who's whoever whole whom whose why will wish with within without woah won't wow would
    wouldn't wrong ya yay yeah yep yes yesterday yet you you'd you'll you're you've your yours
    yourself yup absolutely awesome amazing cool nice glad hope hopefully happy honestly
    literally born based known located founded named called including included due
    """
)
STARTERS |= word_list(
    """
    il elle ils elles nous vous cette ces dans avec pour sur après depuis au aux une mais son ses
    leur selon lors également
    er sie wir ihr im am auf nach mit seit aber nicht auch dieser diese dieses bei für eine einer
    él ella ellos esta este estos con desde después también pero por sus una según
    egli nel nella nei dal dalla dopo questo questa anche
    ele ela eles em depois uma também segundo
    hij zij het een dit deze met voor
    он она оно они это этот эта эти в на с со и но а из по для после при от до как что когда где не
    также его её их был была было были однако так все у к о во за под над
    він вона вони це цей та з із до після
    ο η το οι τα τον την ένας μια ένα αυτός αυτή αυτό στο στη στην στον στα από με και για ήταν
    είναι όταν που πριν μετά ενώ
    """
)
"""Words that open a sentence and belong to no name there; also never a name alone."""

COMMON_WORDS = word_list(
    """
    abstract access account act action activities activity actor actress adding age agreement
    air album albums algorithm alumni amount analysis ancient animals animation answer appendix
    approaching approximately archaeologists architect area areas arguments army art article
    articles artist artists ask asking assistant attempts attendance attorney author authorities
    authors award awards background bad balance band bands bank base baseball basketball battle
    beautiful beginning believe best better big bill biography birds births bishop black blood
    blue board boat bodies body book books boxing boys brief bring british broadcast brother
    brothers brown building buildings built bus business buy calculations call calling camp
    campaign candidates captain car cards care career cars case cases castle cast cat category
    cathedral cats cause causes cell cells census center central centre century chairman
    champion championship change changes chapter characters check chemical chief child children
    choose church cities citizens city civil class classes click climate club coach coaches coal
    code coffee college colleges come comedian comedy coming command comments commissioner
    committee common communities community companies company compare competition composed
    composer computer concert conclusion conclusions conditions conference construction contact
    contemporary contents continue control cooking copies corporation cost council countries
    country county couple course court create created creating credits crew cricket critical
    criticism critics crossing cultural culture customers daily dance data database date day
    days death deaths debate decades deep definition degree department describe description
    design designed details detective development different digital dinner director directors
    discography discussion disease distance distribution district districts doctor doctors dog
    dogs doing double drama drink drive driver drugs each early earth east eastern eating
    economic economy editor editors education effects effort efforts eight election elections
    electric elements emperor employees end energy engine engineer engineering engineers england
    enjoy entertainment entry environmental episode episodes equipment error errors events
    everybody evidence example examples executive exercise existing expect experience
    experiments experts explain external extra eye eyes facilities facing fact factors failure
    fair family famous fan fans fantastic farm farmers farming fast father favorite feature
    featured features federal feel feeling female fiction field fifth fight fighting figure
    figures file files film films filming final finances find finding fire fish fishing five
    flight flights floor flowers folk follow food football footballer force forces foreign
    forest forget form former formula fort forward foundation four fourth free freedom fresh
    friend friends front fruit full fun function functions funding future gallery game games
    garden gardening gas gay general genres get getting giant girl girls give giving global go
    goal goals god going gold golf government governor grade graduates grand grants grass green
    ground group groups growing growth guess guest guests guide guitar guitarist gun guys half
    hall hand hands harbor hard head heading health hearing heart heat heavy height help helping
    heritage hero high higher highway hiking hill historian historians history hit hockey hold
    holding holiday home hop horror horse horses hospital host hosts hot hotel hour hours house
    household houses housing human humans hundreds ideas identity images imagine immigrants
    impact improvements increased independence independent individual individuals industrial
    industry influence influenced influences information infrastructure input inspired institute
    institutions insurance interest international interviews introduction investigation
    investors island islands issue issues items japan job jobs join joining journal journalist
    journalists judge judges jump junior justice keep keeping key keywords kid kids killed kind
    king kings kitchen knowledge labels lack lake land language languages large larger law
    lawyer laws lead leader leaders leading league learn learning leave leaving left legacy
    legal legend legends legislation length lessons letter letters level library license life
    light line lines list listen listening lists literally literary literature little live lives
    living local location long looking looks lord lose loss lost lot love loving low lower luck
    lunch lyrics machine magazine main maintenance major make making male man management manager
    managers manufacturers map march mark market marketing marriage married mass master match
    materials math matter mayor mean meaning means measurements meat media medical medicine
    medieval meditation meeting member members membership memories men mental message metal
    method methods middle military million millions mind minister ministers minor mission
    missing model models modern mom moment moments money month months moon morning mother motion
    motor mountain mountains move movement movements movie movies moving multiple murder museum
    museums music musical musician musicians names narrative nation national nations native
    natural nature navy need negative neighbors network networks new news night nine nobles
    noise north northern note notes novel novels nuclear number numbers object objects ocean
    office officer officers officials oil old older online open opened opening opera operating
    operation operations opinion opponents order orders organization organizations original
    output owners page pages paid painter painting paintings pair paper papers parents parish
    park parking parliament participants parties parts party passengers past path patients pay
    peace people percent percentage performance performances perfect period permanent person
    personal personnel phase phone photo photography photos physical physicians piano pick
    picking picture pictures place places plan plane planning plans plant plants play player
    players playing plays plot poems poet poetry poets point points police policies policy
    political politician politicians politics pop popular population port portrait position
    positive possible post power powerful practice prayer predict premier presence present
    president press pressure pretty previous price prices priest prime prince princess principal
    print prior prison private problem problems process processing producer producers product
    production products professional professor program programme programs progress project
    projects property protests provinces provincial public publication publications published
    publisher publishers pupils purchase put putting quality queen question questions quick
    racing radio rail railway rain random rate rates reaching read reader readers reading ready
    real reality reasons reception record recording recordings records red reference references
    reform regional regions regular related relations relationships release released releases
    religion religious remember remains remote report reporter reports representative
    representatives request required requirements research researchers reserve reserves
    residents resources response responsible rest restaurants result results retail retired
    return returning reviewers reviews revised rice right rights river rivers road roads rock
    role roles room rooms round routes royal rugby ruins rule rulers rules run runner running
    sales sample sand save saw say saying scenes school schools science scientific scientist
    scientists scope score scored sea season seasons seating second secret secretary section
    sections security seeing select self senior sense sentence series serious service services
    session sessions set sets settlement settlers seven severe sex shape share she ship ships
    shooting shop short shortly show showing shows side signs silver similar simple singer
    singers single singles sister sit site sites situated six sixth size skills sleep slight
    small smaller smoke snow social society soft software soil soldiers solid solutions song
    songs sound sounds source sources south southern space speaking special species speech speed
    spend sport sports spring staff stage standard star stars start started starting state
    statements states station stations statistics status stay step stories story strange street
    streets strong student students studies studio study style subject subjects success
    successful suddenly summary summer sun supply support supporters surface surprisingly survey
    survivors symptoms system systems table take taking tales talk talking tall tax teacher
    teachers teaching team teams techniques technology teen television temperature temperatures
    temple ten tennis term terms test testing tests text theatre theme theories theory thick
    thing things think thinking third thought thoughts thousands time times tip tips title
    titles top topics total tour tourism tourist tourists town towns township track tracks trade
    traditional traffic train training trains transport transportation travel traveling trees
    trial tributaries trip troops trust try trying turn turning tv twelve twenty type types
    unable understanding union unique unit units university unknown usage use used user users
    using vacation value values variations vehicles version versions victims video videos view
    views village villages violence visit visiting visitors voice volume vote voters wait walk
    walking want war warm wars watch watching water waves way ways weapons wearing weather
    website wedding week weekend weekly weeks weight west western white widely wife wild
    wildlife wind windows wine winner winners winning winter woman women wonderful wood words
    work workers working works world worth write writer writers writing written year years yoga
    young youth zero adopting agreed allow allowing apart arriving assuming beginning becoming
    bringing changing combining compared concerning considering consisting containing contrary
    depending described determined developed driven encouraged entitled excited expanding faced
    far feels formed forms found gained graduating hearing helped hired hosted impressed
    inspiring intended introduced invited involving joined launched lived made mention met moved
    originating owing owned performed placed played produced proud provided raised recorded
    regarding remained replaced seen sent separate set spanning speaking stationed studied
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
    роман книга город писатель поэт автор фильм
    """
)
"""Ordinary words that often open a sentence; a name alone only where the document shows it."""

WEEKDAYS = word_list("monday tuesday wednesday thursday friday saturday sunday")
CALENDAR = frozenset((*MONTH.casefold().split("|"), *WEEKDAYS, *(f"{day}s" for day in WEEKDAYS)))
"""Months and weekdays; never names alone."""

CONNECTORS = word_list(
    """
    of the de la las los del della delle di da do dos das du des le les el al van von vom der den
    ten ter zu zur am sur av af bin binti ibn ben abu ap ab verch ferch mac y und et & upon -e -ye
    -i 'n' 'n o'
    """
)
"""Lower-case words inside names."""
