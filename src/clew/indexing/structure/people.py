"""Lines that say where somebody works: below the end of a letter, and in lists of addresses.

Yours sincerely,

Ada Byron
Chief Engineer
Analytical Engines Ltd
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from clew.indexing.ner.entity_types import (
    COURTESY,
    ROLES,
    is_first_name,
    is_ordinary,
    is_person_shaped,
    type_of_name,
)
from clew.indexing.ner.known_terms import WITH_ASSISTANTS
from clew.indexing.reading.formats.chats import MEDIA_TYPE
from clew.indexing.reading.formats.mail_parts import MEDIA_TYPE as PEOPLE_MEDIA_TYPE
from clew.indexing.reading.formats.mail_parts import Person, from_flat
from clew.indexing.relations.descriptions import CONCEPT, IS_A
from clew.indexing.splitting.code import is_code
from clew.text import entity_key
from clew.times import to_time
from clew.types import AliasEvidence, Statement, Structure

if TYPE_CHECKING:
    from clew.types import Document


AFFILIATED_WITH = "affiliated_with"
_MOST = 500
"""Blocks of a document."""
_LINE = r"[ \t]{0,12}[^\W\d_a-z][^\n]{1,70}\n"
_BLOCK = re.compile(
    rf"(?:\A|(?<=\n\n))(?P<first>{_LINE})(?P<rest>(?:{_LINE}|[ \t]{{0,12}}\d[^\n]{{1,70}}(?:\n|\Z)"
    r"|[ \t]{0,12}[^\W\d_a-z][^\n]{1,70}\Z){1,9})",
)
_FIRST = re.compile(r"(?P<name>[^,(\n]{4,50}?)(?:,[ ](?P<role>[^,\n]{3,40}))?\s*\Z")
_ASIDE = re.compile(r"[ ]?\([^()]*\)")
_STOP = re.compile(r"[.:;!?]\s*\Z|\d{3}")
"""How a line ends, or what it holds, that is no part of who somebody is."""


def signed_blocks(document: Document) -> Structure:
    """`affiliated_with` the organisations below a person's name, and the role beside it."""
    if is_code(document.media_type) or document.media_type == "text/x-rst":
        return Structure()
    found: list[Statement] = []
    for block in _BLOCK.finditer(document.text):
        found += _read(block)
        if len(found) > _MOST:
            break
    return Structure(statements=tuple(found[:_MOST]))


def _read(block: re.Match[str]) -> Iterator[Statement]:
    first = _FIRST.fullmatch(block["first"].strip())
    name = _without_titles(first["name"]) if first else ""
    if first is None or not is_person_shaped(name) or not is_first_name(name.split()[0]):
        return
    lines = [_ASIDE.sub("", line).strip() for line in block["rest"].splitlines()]
    told = [part.strip() for line in lines if not _STOP.search(line) for part in line.split(",")]
    told = [first["role"] or "", *told]
    role = next((one for one in told[:2] if _is_role(one)), "")
    if role:
        yield _statement(block, name, IS_A, role.casefold(), CONCEPT)
    for group in told:
        if type_of_name(group) == "organisation" and " " in group:
            yield _statement(block, name, AFFILIATED_WITH, group, "organisation")


def _without_titles(name: str) -> str:
    words = name.split()
    while words and words[0].casefold().strip(".") in COURTESY:
        words.pop(0)
    return " ".join(words)


def _is_role(text: str) -> bool:
    words = text.casefold().split()
    return 0 < len(words) <= 4 and words[-1] in ROLES and all(w.isalpha() for w in words)


def _statement(
    block: re.Match[str], name: str, relation: str, tail: str, tail_type: str
) -> Statement:
    return Statement(
        head=name,
        head_type="person",
        relation_type=relation,
        tail=tail,
        tail_type=tail_type,
        start=block.end("first") - len(block["first"].lstrip()),
        end=block.end("rest"),
        confidence=0.85,
    )


# Who is credited in a document: "Contributed by Ada Lovelace", "thanks Ada Lovelace for …".
#
# So is who stands in a list of contributors, or of names with addresses.


CREDITED_IN = "credited_in"
_MOST_CREDITS = 1_000
"""Persons of a document."""
_DONE_BY = re.compile(
    r"(?:(?P<opens>Implemented|Written|Proposed|Designed|Developed|Fixed|Added|Created|Maintained"
    r"|Translated)|[Cc]ontributed|[Ss]uggested|[Rr]eported|[Ss]ubmitted|[Pp]ointed out"
    r"|[Nn]oticed|[Pp]atch(?:es)?|[Ff]ix(?:es)?|PRs?|[Cc]ourtesy)"
    r"(?: and [a-z]+)?(?: mostly| mainly)? (?:by|from|of)\s[*_]{0,2}"
)
"""What opens a sentence is done to the document, "written" within one to something else."""
_WITHIN = re.compile(r"[^.;\n] ")
_THANKS = re.compile(
    r"\b[Tt]hanks(?: for (?:[a-z]+ ){1,6}go)?(?: go)?(?:,| to| also| again| very much){0,3}\s"
)
_THANKED = re.compile(r"\b[Tt]hank(?:s|ed)?\b[^:.]{0,200}:\s{1,4}(?=[^\W\d_a-z])")
"""What stands before a list in a sentence: "I thank these people for their help: Ada Byron"."""
_AFTER_THANKS = re.compile(r"(?<!\s)[^\S\n]*+(?:[.;)\n]|\Z|(?:for|who)\b)")
_LIST = re.compile(
    r"\b(?:[Tt]hanks|[Cc]ontribut(?:ed|ors?|ions?)|[Cc]redits)\b[^\n:]{0,100}:[ \t]*\n\s*"
    r"|^(?:#{1,6}[ ])?(?:Contributors|Authors|Credits|Acknowledge?ments|Maintainers|Committers"
    r"|Thanks)[ \t]*\n(?:[=~*^-]{3,80}\n)?\s*",
    re.MULTILINE,
)
_WORD = r"[^\W\d_a-z][\w'’.-]{0,30}"
_NAME = re.compile(
    rf"{_WORD}(?:\s(?:(?:van|von|de|der|den|da|di|del|le|la)\s){{0,2}}{_WORD}){{1,3}}"
)
_STOP_CREDITS = re.compile(r"[^\W\d_]{5}\. ")
"""The end of a sentence rather than of an initial: "reported by OpenSSL. In that case"."""
_WITH_ADDRESS = re.compile(
    rf"^[ \t]{{0,8}}(?:[-*•][ \t]{{1,4}})?(?P<name>{_NAME.pattern})"
    r" [<(][^\s<>()]{1,60}(?:@| at )",
    re.MULTILINE,
)
"""A line of a list of authors: "Ada Lovelace <ada@example.org>"."""
_AND = re.compile(r"(?:,\s?(?:and\s)?|\sand\s)")
_ITEM = re.compile(r"[ \t]*(?:[-*•][ \t]+)?(?P<name>[^\n]{3,60})\n?")
_ASIDE_CREDITS = re.compile(r"\([^()]{0,60}\)|<[^<>]{0,60}>|:\w{1,10}:`[^`]{0,40}`")
_MOST_LISTED = 300
_HANDLE = re.compile(r"@?[^\W\d_][\w-]{2,38}")
_LONGEST_HANDLE = 3
"""Words of a line of such a list that is no name of a person: it is passed over."""


def credited(document: Document) -> Structure:
    """`credited_in` the document, of each person in full, once."""
    if not entity_key(document.title) or is_code(document.media_type):
        return Structure()
    found: dict[str, Statement] = {}
    for name, start, end in chain(_in_sentences(document.text), _in_lists(document.text)):
        if len(found) == _MOST_CREDITS:
            break
        statement = Statement(
            head=name,
            head_type="person",
            relation_type=CREDITED_IN,
            tail=document.title,
            start=start,
            end=end,
            confidence=0.9,
        )
        found.setdefault(entity_key(name), statement)
    return Structure(statements=tuple(found.values()))


Place = tuple[str, int, int]


def _in_sentences(text: str) -> Iterator[Place]:
    for match in _DONE_BY.finditer(text):
        before = text[max(0, match.start() - 2) : match.start()]
        if not (before[-1:].isalnum() or (match["opens"] and _WITHIN.fullmatch(before))):
            yield from _names(text, match.end())
    for match in _THANKED.finditer(text):
        yield from _names(text, match.end())
    for match in _THANKS.finditer(text):
        names = list(_names(text, match.end()))
        # "Thanks to Ada Byron, machines …" thanks nobody.
        if names and _AFTER_THANKS.match(text, names[-1][2]):
            yield from names


def _names(text: str, at: int) -> Iterator[Place]:
    """The names of persons that are listed from a place on."""
    for _ in range(_MOST_LISTED):
        match = _NAME.match(text, at)
        name = " ".join(match.group().split()).rstrip(".") if match else ""
        if match is None or not is_person_shaped(name) or _STOP_CREDITS.search(name):
            return
        yield name, match.start(), match.start() + len(match.group().rstrip("."))
        between = _AND.match(text, match.end())
        if between is None:
            return
        at = between.end()


def _is_handle(name: str) -> bool:
    """Whether one word of a list of persons is somebody's handle: "jxlil", "Kadino"."""
    is_bot = name.casefold().endswith("bot")
    return _HANDLE.fullmatch(name) is not None and not (is_bot or is_ordinary(name))


def _in_lists(text: str) -> Iterator[Place]:
    """The lines below "Thanks to all who contributed:" that are names of persons."""
    for listed in _WITH_ADDRESS.finditer(text):
        yield " ".join(listed["name"].split()), *listed.span("name")
    for match in _LIST.finditer(text):
        at = match.end()
        for _ in range(_MOST_LISTED):
            item = _ITEM.match(text, at)
            if item is None:
                break
            name = " ".join(_ASIDE_CREDITS.sub(" ", item["name"]).split())
            if (is_person_shaped(name) and not _THANKS.match(name)) or _is_handle(name):
                yield name, item.start("name"), item.end("name")
            elif len(name.split()) > _LONGEST_HANDLE:
                break
            at = item.end()


# Minutes of a meeting: who was there, and who is said to have spoken.


_PRESENT = re.compile(
    r"^[ \t]{0,8}(?:[-*+#>]{1,6}[ \t]{1,4})?[*_]{0,3}"
    r"(?:(?P<absent>apologies(?: for absence| from)?|absent|regrets)"
    r"|present|attendees|attending|attended by|participants|in attendance)"
    r"[*_]{0,3}[ \t]{0,4}(?::(?P<names>[^\n]{0,2000}))?$",
    re.I | re.M,
)
_BLANK = re.compile(r"\n{0,3}")
_ITEM_MINUTES = re.compile(r"[ \t]{0,8}(?:[-*+]|\d{1,3}[.)])[ \t]{1,4}(?P<name>[^\n]{1,200})\n?")
_BETWEEN = re.compile(r",|;|\band\b|\t")
_ASIDE_MINUTES = re.compile(r"\([^()]{0,200}\)|\[[^\[\]]{0,200}\]|[*_`@]")
_SAID = re.compile(
    r"^[ \t]{0,8}(?:[-*+>][ \t]{1,4})?[*_]{0,3}"
    r"(?P<name>[^\W\d_][\w'’.-]{0,40}(?: [\w'’.-]{1,40}){0,3})"
    r"[*_]{0,3}:[*_]{0,3}[ \t]{1,4}\S",
    re.M,
)
_ACTION = re.compile(
    r"(?:^[ \t]{0,8}(?:[-*+•>][ \t]{1,4})?[*_]{0,3}(?i:actions?)(?: points?| items?)?"
    r"[*_]{0,3}:[*_]{0,3}[ \t]{1,4}"
    r"|\b(?:[Aa]greed|[Dd]ecided|[Rr]esolved):? that )"
    r"(?P<name>[^\W\d_a-z][\w'’-]{1,30}(?: [^\W\d_a-z][\w'’.-]{0,30}){1,3})"
    r" (?:to|will|would|should|shall) ",
    re.MULTILINE,
)
_MOST_MINUTES = 200
"""People of a meeting."""
_KINDS = frozenset({"text/plain", "text/markdown", "text/x-rst", "text/html"})


def minutes_structure(document: Document) -> Structure:
    """Who `attended`, who was `absent_from` the meeting, who `spoke_in` it and who is to act."""
    if not document.title or document.media_type not in _KINDS:
        return Structure()
    lists: dict[str, dict[str, tuple[int, int]]] = {"attended": {}, "absent_from": {}}
    for match in _PRESENT.finditer(document.text):
        lists["absent_from" if match["absent"] else "attended"].update(
            _listed(document.text, match)
        )
    present = dict(list(lists["attended"].items())[:_MOST_MINUTES])
    absent = dict(list(lists["absent_from"].items())[:_MOST_MINUTES])
    spoke = _speakers(document.text, present) if present else {}
    return Structure(
        statements=(
            *(_statement_minutes(document, n, "attended", place) for n, place in present.items()),
            *(_statement_minutes(document, n, "absent_from", place) for n, place in absent.items()),
            *(_statement_minutes(document, n, "spoke_in", place) for n, place in spoke.items()),
            *(
                _statement_minutes(document, n, "has_action_in", place)
                for n, place in _acting(document.text)
            ),
        )
    )


def _statement_minutes(
    document: Document, name: str, relation: str, place: tuple[int, int]
) -> Statement:
    return Statement(
        head=name,
        head_type="person",
        relation_type=relation,
        tail=document.title,
        start=place[0],
        end=place[1],
        valid_from=document.created_at,
    )


def _listed(text: str, match: re.Match[str]) -> Iterator[tuple[str, tuple[int, int]]]:
    """Names on the line itself, else those of the list below it, with their places."""
    if match["names"] and match["names"].strip(" *_"):
        yield from _names_minutes(match["names"], match.start("names"))
        return
    at = match.end()
    at += len(_BLANK.match(text, at)[0])  # type: ignore[index]
    for _ in range(_MOST_MINUTES):
        item = _ITEM_MINUTES.match(text, at)
        if item is None:
            return
        yield from _names_minutes(item["name"], item.start("name"))
        at = item.end()


def _names_minutes(text: str, offset: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """The names of persons among what is listed, nothing else."""
    at = 0
    for between in (*_BETWEEN.finditer(text), None):
        end = between.start() if between else len(text)
        name = " ".join(_ASIDE_MINUTES.sub(" ", text[at:end]).split()).strip(" .:–-")
        while name.partition(" ")[0].casefold().strip(".") in COURTESY:
            name = name.partition(" ")[2]
        if is_person_shaped(name) or (name.istitle() and is_first_name(name)):
            yield name, (offset + at, offset + end)
        at = between.end() if between else end


def _acting(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Those of whom a decision says what they will do: "ACTION: Ada Byron to write to …"."""
    names: dict[str, tuple[int, int]] = {}
    for match in _ACTION.finditer(text):
        if is_person_shaped(match["name"]):
            names.setdefault(match["name"], match.span("name"))
    yield from list(names.items())[:_MOST_MINUTES]


def _speakers(text: str, present: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """Those present whose name, or a part of it that is nobody else's, opens a line: `Ada: …`."""
    short: dict[str, set[str]] = {}
    for name in present:
        for part in {name, *name.split()}:
            short.setdefault(part, set()).add(name)
    found: dict[str, tuple[int, int]] = {}
    for match in _SAID.finditer(text):
        meant = short.get(match["name"], set())
        if len(meant) == 1:
            found.setdefault(next(iter(meant)), match.span("name"))
    return found


# Who spoke in a conversation.


def chat_structure(document: Document) -> Structure:
    """Each speaker `spoke_in` the conversation, from the first turn on."""
    is_chat = document.media_type == MEDIA_TYPE and document.title
    if not is_chat or document.metadata.get("app") in WITH_ASSISTANTS:
        return Structure()
    return Structure(statements=tuple(_spoke(document)))


def _spoke(document: Document) -> Iterator[Statement]:
    seen: set[str] = set()
    for piece in document.pieces:
        speaker = piece.metadata.get("speaker")
        if isinstance(speaker, str) and speaker and speaker not in seen:
            seen.add(speaker)
            yield Statement(
                head=speaker,
                head_type="person",
                relation_type="spoke_in",
                tail=document.title,
                start=piece.start,
                end=piece.start + len(speaker),
                valid_from=to_time(piece.metadata.get("created_at")),
            )


# What the header of a message states: who sent it to whom, and what it answers.


_MOST_RECIPIENTS = 20
"""A message to more is an announcement and ties nobody to anybody."""
_ALIAS_SCORE = 0.95
_ROLES = frozenset(
    {
        *("admin", "alerts", "bounce", "bounces", "bugs", "contact", "daemon", "digest", "do"),
        *("donotreply", "help", "info", "list", "mailer", "mailman", "news", "newsletter", "no"),
        *("noreply", "notification", "notifications", "office", "owner", "postmaster", "reply"),
        *("request", "root", "sales", "service", "support", "system", "team", "updates"),
    }
)
"""What the part before the `@` says of addresses behind which there is nobody."""
_REPLY = "re: "


def mail_structure(document: Document) -> Structure:
    """`sent`, `wrote_to` and `replies_to` of a message; its people's addresses as aliases."""
    if document.media_type != PEOPLE_MEDIA_TYPE:
        return Structure()
    people = {name: from_flat(document.metadata.get(name)) for name in ("from", "to", "cc")}
    sender = next(iter(people["from"]), None)
    recipients = list(dict.fromkeys([*people["to"], *people["cc"]]))
    named = [*([sender] if sender else []), *recipients[:_MOST_RECIPIENTS]]
    return Structure(
        statements=(
            *(_sent(document, sender, recipients) if sender else ()),
            *_replies_to(document),
        ),
        aliases=tuple(_alias(person) for person in named if person.name and person.address),
    )


def _sent(document: Document, sender: Person, recipients: list[Person]) -> Iterator[Statement]:
    if document.title:
        yield _statement_mail(document, sender, "sent", document.title, "name")
    if len(recipients) <= _MOST_RECIPIENTS:
        for one in recipients:
            if one != sender:
                yield _statement_mail(document, sender, "wrote_to", _name(one), _type(one))


def _replies_to(document: Document) -> Iterator[Statement]:
    """The subject that a message answers is its own without the mark of an answer."""
    title = document.title
    if "in_reply_to" in document.metadata and title.casefold().startswith(_REPLY):
        yield Statement(
            head=title,
            relation_type="replies_to",
            tail=title[len(_REPLY) :].strip(),
            valid_from=document.created_at,
        )


def _statement_mail(
    document: Document, sender: Person, relation: str, tail: str, tail_type: str
) -> Statement:
    start, end = _header_line(document.text, tail)
    return Statement(
        head=_name(sender),
        head_type=_type(sender),
        relation_type=relation,
        tail=tail,
        tail_type=tail_type,
        start=start,
        end=end,
        valid_from=document.created_at,
    )


def _header_line(text: str, name: str) -> tuple[int, int]:
    """The range of the line of the opening that names somebody; that of its first line else."""
    opening = text.partition("\n\n")[0]
    at = max(opening.find(name), 0)
    start = opening.rfind("\n", 0, at) + 1
    end = opening.find("\n", at)
    return start, end if end >= 0 else len(opening)


def _name(person: Person) -> str:
    return person.name or person.address


def _type(person: Person) -> str:
    """A person where the name has the shape of one's and the address is none of a role."""
    words = person.address.partition("@")[0].replace("-", ".").replace("_", ".").split(".")
    return "person" if is_person_shaped(person.name) and _ROLES.isdisjoint(words) else "name"


def _alias(person: Person) -> AliasEvidence:
    return AliasEvidence(
        alias=person.address,
        name=person.name,
        method="exact",
        score=_ALIAS_SCORE,
        evidence=f'"{person.name}" <{person.address}>',
    )
