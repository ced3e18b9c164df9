"""Patterns of questions: their form, the names in them, and wording that asks for a strategy.

English only; a question in another language matches no pattern and counts as one of fact.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from clew.search.analysis.analyse import UNSPACED
from clew.text import fold

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


Form = Literal[
    "who", "what", "when", "where", "which", "why", "how", "yes_no", "imperative", "keywords"
]

_QUESTION_WORDS: dict[str, Form] = {
    "who": "who", "whom": "who", "whose": "who", "what": "what", "when": "when",
    "where": "where", "which": "which", "why": "why", "how": "how",
}  # fmt: skip
_SHORT_FORMS = {"what's": "what", "who's": "who", "where's": "where", "how's": "how"}
_AUXILIARIES = frozenset(
    """am are can could did do does had has have is may might must shall should was were will
    would""".split()
)
_IMPERATIVES = frozenset(
    """compare define describe explain find give identify introduce list name outline paint please
    read show summarise summarize tell trace""".split()
)
_PREPOSITIONS = frozenset("about at by for from in on through to under until with".split())
_OPENERS = frozenset(_QUESTION_WORDS) | _AUXILIARIES | _IMPERATIVES | _PREPOSITIONS

_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_POSSESSIVE = re.compile(r"['’]s?$")
LOOK_UP_WORDS = 3
"""Words of a string that is looked up rather than asked, at most."""
LOOK_UP_CHARACTERS = 100
"""Characters of a file's name, a name in code or a quotation that is looked up, at most."""
_INNER = frozenset("al da de del der di du ibn la le of van von".split())


def question_form(question: str) -> Form:
    """Its question word; else whether it asks yes or no, orders something, or only names it.

    Words in front decide: "Did he say who …" asks yes or no, "In which town …" asks which. Further
    back a question word counts where there is a question mark.
    """
    words = [fold(word) for word in _TOKEN.findall(question)]
    if words and words[0] in _AUXILIARIES:
        return "yes_no"
    if words and words[0] in _IMPERATIVES:
        return "imperative"
    behind_preposition = words[:1] and words[0] in _PREPOSITIONS
    for word in words if "?" in question else words[: 2 if behind_preposition else 1]:
        known = _QUESTION_WORDS.get(_SHORT_FORMS.get(word.replace("’", "'"), word))
        if known:
            return known
    return "yes_no" if "?" in question else "keywords"


def count_words(question: str) -> int:
    """Words; in scripts without spaces two characters count as one."""
    found = [word for word in question.split() if _TOKEN.search(word)]
    return sum((len(word) + 1) // 2 if UNSPACED.search(word) else 1 for word in found)


def is_look_up(question: str) -> bool:
    """Whether it asks nothing: a few words, a file, a name in code, a quotation."""
    text = question.strip()
    if question_form(text) == "keywords" and 0 < count_words(text) <= LOOK_UP_WORDS:
        return True
    return len(text) <= LOOK_UP_CHARACTERS and bool(IDENTIFIER.fullmatch(text))


def find_names(question: str, keys: Sequence[str]) -> tuple[list[str], list[str]]:
    """(known, unknown) names in order: `keys` as the question writes them; other capitalised words.

    `keys` are those of entities (`clew.text.entity_key`). A key that no words of the question have
    (in scripts without spaces, say) stands for itself.
    """
    tokens = [(m.start(), m.end(), m.group()) for m in _TOKEN.finditer(question)]
    folded = [fold(_POSSESSIVE.sub("", word)) for _, _, word in tokens]
    taken: set[int] = set()
    known: list[tuple[int, str]] = []
    for key in keys:
        parts = _TOKEN.findall(key)
        starts = range(len(folded) - len(parts) + 1)
        at = next((at for at in starts if folded[at : at + len(parts)] == parts), None)
        if at is None:
            known.append((len(tokens), key))
            continue
        taken.update(range(at, at + len(parts)))
        written = question[tokens[at][0] : tokens[at + len(parts) - 1][1]]
        known.append((at, _POSSESSIVE.sub("", written)))
    runs = _capitalised_runs([word for _, _, word in tokens], taken)
    unknown = [question[tokens[a][0] : tokens[b][1]] for a, b in runs]
    return [name for _, name in sorted(known)], [_POSSESSIVE.sub("", name) for name in unknown]


def opens_question(name: str) -> bool:
    """Whether a name begins as questions do, "Give me": its capital says nothing."""
    first = _TOKEN.match(name)
    return first is not None and fold(first.group()) in _OPENERS


def _capitalised_runs(words: Sequence[str], taken: set[int]) -> Iterator[tuple[int, int]]:
    """(first, last) of each run of capitalised words, inner "of" and the like included."""
    first = last = -1
    for at, word in enumerate(words):
        if at not in taken and _is_capitalised(word, at, len(words)):
            first = at if first < 0 else first
            last = at
        elif first >= 0 and (at in taken or word not in _INNER):
            yield first, last
            first = -1
    if first >= 0:
        yield first, last


def _is_capitalised(word: str, at: int, of: int) -> bool:
    """The first word of several says little: only openers are certain not to be names."""
    if not word[0].isupper() or len(word) < 2:
        return False
    return at > 0 or of == 1 or _POSSESSIVE.sub("", fold(word)) not in _OPENERS


# --- patterns that ask for a strategy ----------------------------------------------------


def _pattern(text: str) -> re.Pattern[str]:
    """Blanks of the pattern are those of the layout; a blank to be matched is written `_`."""
    return re.compile(re.sub(r"\s+", "", text).replace("_", r"\s++"), re.IGNORECASE)


_DOCUMENTS = (
    "(?:abstracts|articles|books|chapters|chats|conversations|documents|entries|essays|files"
    "|letters|material|messages|notes|pages|papers|passages|posts|publications|reports|sections"
    "|sessions|sources|studies|texts|work|writings)"
)
_NOT_HELPED = r"(?!_(?:are|did|do|does|had|has|have|is|was|were)\b)"
"""Not followed by an auxiliary: "what topics did she …" asks for a fact."""
_STORE = "(?:archive|collection|corpus|data_set|dataset|folder|knowledge_base|library|store)"
_WHOLES = (
    f"(?:{_STORE}|abstracts|articles|conversations?|documents|entries|everything|files|notes|pages"
    "|papers|passages|reports|texts)"
)

EXACT = _pattern(
    r"\b(?: exact(?:ly_the)? _ (?:words?|wording|phrase|string|term) | verbatim | word_for_word"
    r"| literal(?:ly)? _ (?:the_)? (?:words?|phrase|string|text)"
    rf"| {_DOCUMENTS}_(?:that_|which_)?(?:contain(?:ing)?|with|us(?:e|ing)|mention(?:ing)?)"
    r"_the_(?:words?|phrase|string|term)"
    r"| (?:all|each|every)_(?:mentions?|occurrences?|uses?)_of )\b"
)
"""Asks for exact words."""

LIKENESS = _pattern(
    r"^\s*(?:(?:find|give|list|me|more|please|show|some)_)*"
    rf"(?: (?:anything|something|{_DOCUMENTS})_like"
    r"| (?:[\w-]+_){1,4}? (?:similar_to | resembl(?:e|es|ing) | in_the_(?:spirit|style|vein)_of"
    r"| with_an?_(?:feeling|mood|tone)_of | something_like) )\b"
)
"""How a search begins for texts that are like something."""

IDENTIFIER = re.compile(
    r"[\"“„«'`][^\"”“„«»`]+[\"”»'`]"  # a quotation
    r"|(?<![\w./\\-])[\w./\\-]+\.[A-Za-z][A-Za-z0-9]{0,4}"  # a file
    # a name in code
    r"|(?<!\S)(?=[^\sA-Za-z]*+[A-Za-z]\S*?(?:_|::|\(\)|->|\.\w++\())\S++"
)
"""A string that is looked up as it stands."""

WHOLE_TEXT = _pattern(
    r"\b(?: (?:full|whole|entire|complete) _ (?:\w+_)?"
    r"(?:abstract|account|article|biography|chapter|context|conversation|description|document"
    r"|entry|exchange|explanation|message|page|paragraph|passage|procedure|recipe|report|section"
    r"|session|story|text|transcript)"
    r"| surrounding_(?:context|paragraphs?|passages?|text) | in_(?:detail|full) | step_by_step"
    r"| (?:paragraph|passage)_(?:about|on|where|in_which) )\b"
)
"""A longer stretch of text than a passage."""

ABOUT_ANYTHING = _pattern(
    r"\s*(?:please_)? (?:(?:can|could)_you_)?"
    r"(?: tell_me_(?:something_|more_|all_|everything_)?about"
    r"| introduce(?:_me_to)? | describe | everything_(?:on|about|known_(?:of|about))"
    r"| what_(?:do_we|do_you|is)_know(?:n)?_(?:of|about)"
    r"| (?:give_me_)? (?:an?_|some_|the_)? (?:background|profile|portrait)_(?:of|on)"
    r"| (?:give_me_)? (?:an?_|the_)? (?:summary|overview)_of"
    r"| summari[sz]e (?:_what_is_known_(?:of|about))? ) _"
)
"""How a question begins that wants all about the one thing that follows."""
ABOUT_NAME = _pattern(r"\s*(?: (?:who|what)_(?:is|was|are|were) | (?:who|what)['’]s ) _")
"""How one begins that wants the same, if what follows is a name and no more."""

WHOLE = _pattern(
    rf"^(?:(?:all|entire|the|these|this|whole)_)*{_WHOLES}$ | ^(?:all|everything|it|that|this)\b"
)
"""No one thing, but all that there is."""

BREADTH = _pattern(
    r"\b(?: (?:main|principal|major|central|key|big|overarching|recurring|common)"
    r"_ (?:\w+_)?(?:ideas|questions|subjects|themes|threads|topics)"
    r"| (?:an_|general_)overview | big(?:ger)?_picture | overall_picture | broad_picture"
    r"| overview_of_(?:all|everything|the_(?:entire|whole)|this|these)"
    rf"| (?:this|the_entire|the_whole)_{_STORE}"
    rf"| (?:what|which)_(?:are_the_)?(?:subjects|themes|topics){_NOT_HELPED}"
    rf"| summari[sz]e_(?:the_|this_|these_|all_|everything) | gist_of"
    rf"| (?:across|throughout)_(?:all|the_whole|the_entire)(?:_the)?_{_WHOLES}"
    rf"| what_(?:is|are)_(?:this|these|the)_{_WHOLES}_about )\b"
    r"| (?:what|which)_(?:subjects|themes|topics|areas)_(?:do|does|are)_"
    rf"(?:the_|these_|this_)?{_WHOLES}"
    r"| (?:what|which)_(?:subjects|themes|topics|areas)_are_(?:addressed|covered|discussed|there)"
    rf"(?:_here|_in_(?:here|it|them|(?:the_|these_|this_)?{_WHOLES}))?\W*$"
    r"| in_broad_(?:strokes|terms|outline)"
    r"| ^\s*(?:broadly|overall|in_general)\b | \b(?:overall|in_general|as_a_whole)\W*$"
)
"""The whole is asked for."""

DETAIL = _pattern(
    r"\b(?: details? | specifics? | particulars? | in_particular | examples? | stands?_out"
    r"| and_(?:\w+_)?(?:who|which|what|where) )\b"
)
"""Particulars are asked for as well."""

STRUCTURE = _pattern(
    r"\b(?: hierarch(?:y|ies) | taxonomy | outline_of | table_of_contents | (?:sub)?headings?"
    r"| structure_of_(?:the|this)_(?:\w+_)?"
    r"(?:chapter|collection|conversation|document|manual|report|text)"
    r"| (?:what|which)_(?:chapters?|(?:sub)?sections?)"
    r"_(?:are|contain|cover|deal|describe|discuss|do|is|mention)(?:es|s)?"
    r"| (?:what|which)_(?:(?!do_|does_|did_)[\w-]+_){1,3}"
    r"(?:belongs?_to|(?:come|fall|rank|lie)s?_under)"
    r"| what_(?:comes|falls|belongs|is)_(?:above|below|under)"
    r"| what_are_the_parts_of )\b"
)
"""What lies within what."""

DOCUMENTS_ON = _pattern(
    rf"(?: ^\s*(?:find_|show_|list_)?(?:me_)? | \b(?:what|which|any|all)_ ) (?:\w+_)? {_DOCUMENTS}"
    r"_ (?:(?:are|is)_)?(?:there_)?(?:that_)?"
    r"(?:about|on|concerning|regarding|dealing_with|deals?_with|covers?|discuss)\b"
    r"| ^\s*(?:have_we_(?:got_)?|do_we_have_|is_there_)?anything_(?:about|on)\b"
    r"| \bwhat_(?:have_we|do_we_have|is_there)_(?:got_)?(?:about|on)\b"
    rf"| \b(?:what|which)_topics{_NOT_HELPED}"
)
"""The documents on a topic are asked for."""

NEWS = _pattern(
    r"^\s*(?:(?:any|are|give|is|me|most|show|tell|the|there|what|what['’]s)_)*"
    r"(?: new_(?:about|in|on|with)"
    r"| (?:latest|newest|recent)(?:_(?:changes|developments?|messages?|news|posts?|updates?))?"
    r"_(?:about|from|in|of|on|with) )\b"
    r"| \bup_to_lately\b"
)
"""What is new is asked for, by the question's beginning."""

NEWEST_OF = _pattern(r"^\s*(?:the_)?(?:latest|newest|most_recent)_\w")
"""The newest of some things is asked for, by the words that begin a search."""

SUPERLATIVE = _pattern(r"\b(?: latest | newest | most_recent )\b")
"""The newest of several things is asked for."""

VAGUE = _pattern(r"\b(?: lately | of_late | latest | newest | recent(?:ly)? )\b")
"""Words of time that keep to no period."""

COURSE = _pattern(
    r"\b(?: timeline | chronolog(?:y|ical(?:ly)?) | in_(?:the_)?order_of_time"
    r"| over_(?:time|the_(?:years|months|weeks|decades|centuries)) )\b"
)
"""Things in the order of time."""
HAPPENED = _pattern(
    r"^\s*(?: (?:list|show)_(?:me_)?(?:all_|the_)*events"
    r"|(?:what|which)_(?:events|(?:\w{1,30}_)?(?:happened|occurred|took_place|was_going_on|went_on)))\b"
)
EVENTS = _pattern(
    rf"{HAPPENED.pattern}"
    r"|^\s*what_(?:was|were|has_been|have_been|got)_\w{1,30}?(?:ed|en|wn|ne|lt|ld|nt|ght)\b"
)
"""How a question begins that asks for events; with a period, for the course of them."""

CONNECTION = _pattern(
    r"\b(?: (?:connected|linked|related|tied)_(?:to|with) | (?:connects?|links?|ties)_\w+"
    r"| (?:connections?|links?|relations?|relationships?|ties)_between"
    r"| relates?_to | paths?_(?:from|between) | chain_of )\b"
    r"| \b(?:connected|linked|related)\W*$"
)
"""How things hang together."""
COMPARISON = _pattern(
    r"\b(?: both | in_common | same | shares?d? | each_other | older | younger | longer | first )\b"
)
"""Two things side by side."""


# Questions that are no more than a wish for an overview: "the gist of it all", "tl;dr".


_OPENING = r"(?:please )?(?:(?:give|show|tell|write) (?:me|us) )?(?:(?:an?|the|some) )?"
_KIND = r"(?:(?:brief|complete|executive|general|high-level|quick|short) )?"
_OVERVIEW = r"(?:overview|summary|synopsis|gist|key (?:points|takeaways)|main points|highlights)"
_THINGS = (
    r"(?:archive|articles|collection|corpus|documents|files|folder|library|mails?|messages|notes"
    r"|papers|store|texts)"
)
_ALL = (
    rf"(?:everything|it all|all (?:of )?(?:this|that|it)|all {_THINGS}"
    rf"|(?:all )?(?:of )?(?:the|these|this|my|our) (?:whole )?{_THINGS})"
)
_WISH = re.compile(
    rf"{_OPENING}{_KIND}{_OVERVIEW} (?:of|from|over) {_ALL}(?: please)?"
    rf"|(?:please )?(?:summari[sz]e|sum up) {_ALL}(?: please)?"
    rf"|{_OPENING}(?:big picture|tl;?dr|main points|key (?:points|takeaways))(?:,? please)?"
    r"|what(?: is|['’]s)? (?:in here|(?:it|this|all (?:of )?this) all about"
    r"|all (?:of )?this about)",
    re.IGNORECASE,
)


def wishes_overview(question: str) -> bool:
    """Whether the whole is asked for, and nothing else."""
    return _WISH.fullmatch(" ".join(question.split()).rstrip(" .?!")) is not None


# Sections that a question names: by their number, or by what their heading says.


SECTION_KIND = r"(?:(?:sub)?sections?|chapters?|articles?|appendix|clause|paragraph|§)"
_NUMBERED = re.compile(
    rf"(?<!\w){SECTION_KIND} ?(?P<number>(?:[A-Z]\.)?\d{{1,4}}(?:\.\d{{1,4}}){{0,5}}"
    r"|(?-i:[A-Z])(?:\.\d{1,4}){0,5}|(?-i:[IVXLC]){1,8})(?![\w]|\.\w)",
    re.IGNORECASE,
)
_TITLED = re.compile(
    rf"\b{SECTION_KIND} (?:on|about|called|titled|entitled|named|concerning|dealing with) "
    r"[\"“'‘]?(?P<title>[^\"”'’,;:?!\n]{2,80})",
    re.IGNORECASE,
)
_ENDING = re.compile(r" (?:say|tell|contain|cover|discuss|describe|state)s?\b.*", re.IGNORECASE)
"""What follows the title in a question."""


class SectionName(NamedTuple):
    """How a question names a section: one of both is empty."""

    number: str
    """"4.2", "A.5.2", "IV"."""
    title: str


def section_name(question: str) -> SectionName | None:
    """The section that a question names; None where it names none."""
    if found := _NUMBERED.search(question):
        return SectionName(found["number"], "")
    if found := _TITLED.search(question):
        return SectionName("", _ENDING.sub("", found["title"]))
    return None
