"""Who does what in a record: in minutes, in a conversation and in the header of a message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from clew.indexing.ner.entity_types import COURTESY, is_first_name, is_person_shaped
from clew.indexing.ner.known_terms import WITH_ASSISTANTS
from clew.indexing.reading.formats.chats import MEDIA_TYPE as CHAT
from clew.indexing.reading.formats.mail_parts import MEDIA_TYPE as MAIL
from clew.indexing.reading.formats.mail_parts import Person, from_flat
from clew.indexing.structure.enter import structure
from clew.times import to_time
from clew.types import AliasEvidence, Statement

if TYPE_CHECKING:
    from datetime import datetime

    from clew.types import Document


_Place = tuple[str, int, int]
"""A name and its range."""


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


@structure(most=2 * _MOST_MINUTES)
def minutes_structure(document: Document) -> Iterator[Statement]:
    """Who `attended` the meeting, who was `absent_from` it, who `spoke_in` it and who is to act."""
    if document.media_type not in _KINDS:
        return
    found = [
        ("absent_from" if line["absent"] else "attended", place)
        for line in _PRESENT.finditer(document.text)
        for place in _listed(document.text, line)
    ]
    # Who was there opens a line by the name, or by a part of it that is nobody else's: "Ada: …".
    short: dict[str, set[str]] = {}
    for name in {name for relation, (name, _, _) in found if relation == "attended"}:
        for part in {name, *name.split()}:
            short.setdefault(part, set()).add(name)
    for match in _SAID.finditer(document.text):
        if len(meant := short.get(match["name"], ())) == 1:
            found.append(("spoke_in", (*meant, *match.span("name"))))
    for match in _ACTION.finditer(document.text):
        if is_person_shaped(match["name"]):
            found.append(("has_action_in", (match["name"], *match.span("name"))))
    for relation, place in found:
        yield _by_person(place, relation, document.title, document.created_at)


def _by_person(place: _Place, relation: str, tail: str, at: datetime | None) -> Statement:
    name, start, end = place
    return Statement(
        head=name,
        head_type="person",
        relation_type=relation,
        tail=tail,
        start=start,
        end=end,
        valid_from=at,
    )


def _listed(text: str, match: re.Match[str]) -> Iterator[_Place]:
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


def _names_minutes(text: str, offset: int) -> Iterator[_Place]:
    """The names of persons among what is listed, nothing else."""
    at = 0
    for between in (*_BETWEEN.finditer(text), None):
        end = between.start() if between else len(text)
        name = " ".join(_ASIDE_MINUTES.sub(" ", text[at:end]).split()).strip(" .:–-")
        while name.partition(" ")[0].casefold().strip(".") in COURTESY:
            name = name.partition(" ")[2]
        if is_person_shaped(name) or (name.istitle() and is_first_name(name)):
            yield name, offset + at, offset + end
        at = between.end() if between else end


# Who spoke in a conversation.


@structure(most=1_000)
def chat_structure(document: Document) -> Iterator[Statement]:
    """Each speaker `spoke_in` the conversation, from the first turn on."""
    if document.media_type != CHAT or document.metadata.get("app") in WITH_ASSISTANTS:
        return
    for piece in document.pieces:
        speaker = piece.metadata.get("speaker")
        if isinstance(speaker, str):
            place = (speaker, piece.start, piece.start + len(speaker))
            at = to_time(piece.metadata.get("created_at"))
            yield _by_person(place, "spoke_in", document.title, at)


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
