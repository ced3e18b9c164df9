"""Who does what in a record: in minutes, in a conversation, in a message and in credits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from clew.indexing.ner.entity_types import (
    COURTESY,
    is_first_name,
    is_ordinary,
    is_person_shaped,
)
from clew.indexing.ner.known_terms import WITH_ASSISTANTS
from clew.indexing.reading.formats.chats import MEDIA_TYPE as CHAT
from clew.indexing.reading.formats.mail_parts import MEDIA_TYPE as MAIL
from clew.indexing.reading.formats.mail_parts import Person, from_flat
from clew.indexing.structure.enter import structure
from clew.times import to_time
from clew.types import AliasEvidence, Statement
from clew.word_lists import read_patterns

if TYPE_CHECKING:
    import re
    from datetime import datetime

    from clew.types import Document


_RE = read_patterns("clew.indexing.structure", "patterns.toml")["people"]


_KINDS = frozenset({"text/plain", "text/markdown", "text/x-rst", "text/html"})
_MOST_LISTED = 300
"""Lines of a list of people."""


@structure(most=400)
def minutes_structure(document: Document) -> Iterator[Statement]:
    """Who `attended` the meeting, who was `absent_from` it, and who `spoke_in` it."""
    if document.media_type not in _KINDS:
        return
    text, title, at = document.text, document.title, document.created_at
    # Who was there opens a line by the name, or by a part of it that is nobody else's: "Ada: …".
    short: dict[str, set[str]] = {}
    for line in _RE["present"].finditer(text):
        on_it = line if (line["names"] or "").strip(" *_") else None
        relation = "absent_from" if line["absent"] else "attended"
        for listed in [on_it] if on_it else _below(text, line.end(), _RE["item_minutes"]):
            for name in _persons(listed["names"]):
                yield _by_person(name, listed.span("names"), relation, title, at)
                for part in {name, *name.split()} if relation == "attended" else ():
                    short.setdefault(part, set()).add(name)
    for match in _RE["said"].finditer(text):
        if len(meant := short.get(match["name"], ())) == 1:
            yield _by_person(next(iter(meant)), match.span("name"), "spoke_in", title, at)


def _by_person(
    name: str, place: tuple[int, int], relation: str, tail: str, at: datetime | None = None
) -> Statement:
    return Statement(
        head=name,
        head_type="person",
        relation_type=relation,
        tail=tail,
        start=place[0],
        end=place[1],
        valid_from=at,
    )


def _below(text: str, at: int, item: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """The items of the list that begins there."""
    for _ in range(_MOST_LISTED):
        found = item.match(text, at)
        if found is None:
            return
        yield found
        at = found.end()


def _persons(text: str) -> Iterator[str]:
    """The names of persons among what is listed, nothing else."""
    for part in _RE["between"].split(text):
        name = " ".join(_RE["aside"].sub(" ", part).split()).strip(" .:–-")
        while name.partition(" ")[0].casefold().strip(".") in COURTESY:
            name = name.partition(" ")[2]
        if is_person_shaped(name) or (name.istitle() and is_first_name(name)):
            yield name


# Who spoke in a conversation.


@structure(most=1_000)
def chat_structure(document: Document) -> Iterator[Statement]:
    """Each speaker `spoke_in` the conversation, from the first turn on."""
    if document.media_type != CHAT or document.metadata.get("app") in WITH_ASSISTANTS:
        return
    for piece in document.pieces:
        speaker = piece.metadata.get("speaker")
        if isinstance(speaker, str):
            place = (piece.start, piece.start + len(speaker))
            at = to_time(piece.metadata.get("created_at"))
            yield _by_person(speaker, place, "spoke_in", document.title, at)


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


@structure(titled=False, prose=False, most=1_000)
def mail_structure(document: Document) -> Iterator[Statement | AliasEvidence]:
    """`sent`, `wrote_to` and `replies_to` of a message; its people's addresses as aliases."""
    if document.media_type != MAIL:
        return
    people = {name: from_flat(document.metadata.get(name)) for name in ("from", "to", "cc")}
    sender, title = next(iter(people["from"]), None), document.title
    recipients = list(dict.fromkeys([*people["to"], *people["cc"]]))
    if sender:
        told = [(one.name or one.address, _type(one)) for one in recipients if one != sender]
        sent = [("sent", title, "name")]
        sent += [("wrote_to", *one) for one in told if len(recipients) <= _MOST_RECIPIENTS]
        for relation, tail, tail_type in sent:
            start, end = _header_line(document.text, tail)
            yield Statement(
                head=sender.name or sender.address,
                head_type=_type(sender),
                relation_type=relation,
                tail=tail,
                tail_type=tail_type,
                start=start,
                end=end,
                valid_from=document.created_at,
            )
    # The subject that a message answers is its own without the mark of an answer.
    if "in_reply_to" in document.metadata and title.casefold().startswith(_REPLY):
        yield Statement(
            head=title,
            relation_type="replies_to",
            tail=title[len(_REPLY) :].strip(),
            valid_from=document.created_at,
        )
    for person in [*([sender] if sender else []), *recipients[:_MOST_RECIPIENTS]]:
        if person.name and person.address:
            yield AliasEvidence(
                alias=person.address,
                name=person.name,
                method="exact",
                score=_ALIAS_SCORE,
                evidence=f'"{person.name}" <{person.address}>',
            )


def _header_line(text: str, name: str) -> tuple[int, int]:
    """The range of the line of the opening that names somebody; that of its first line else."""
    opening = text.partition("\n\n")[0]
    at = max(opening.find(name), 0)
    start = opening.rfind("\n", 0, at) + 1
    end = opening.find("\n", at)
    return start, end if end >= 0 else len(opening)


def _type(person: Person) -> str:
    """A person where the name has the shape of one's and the address is none of a role."""
    words = person.address.partition("@")[0].replace("-", ".").replace("_", ".").split(".")
    return "person" if is_person_shaped(person.name) and _ROLES.isdisjoint(words) else "name"


# Who is credited in a document: who stands in a list of contributors, or of names with addresses.


_LONGEST_HANDLE = 3
"""Words of a line of such a list that is no name of a person: it is passed over."""


@structure(most=1_000)
def credited(document: Document) -> Iterator[Statement]:
    """`credited_in` the document, of each person in full, once."""
    text, title = document.text, document.title
    for listed in _RE["with_address"].finditer(text):
        yield _by_person(
            " ".join(listed["name"].split()), listed.span("name"), "credited_in", title
        )
    for heading in _RE["contributors"].finditer(text):
        for item in _below(text, heading.end(), _RE["item_credits"]):
            name = " ".join(_RE["aside"].sub(" ", item["name"]).split())
            # One word may be somebody's handle: "jxlil", "Kadino".
            is_handle = _RE["handle"].fullmatch(name) and not is_ordinary(name)
            if is_person_shaped(name) or is_handle:
                yield _by_person(name, item.span("name"), "credited_in", title)
            elif len(name.split()) > _LONGEST_HANDLE:
                break
