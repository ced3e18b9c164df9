"""What the header of a message states: who sent it to whom, and what it answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from clew.indexing.ner.entity_types import is_person_shaped
from clew.indexing.reading.formats.mail.people import MEDIA_TYPE, Person, from_flat
from clew.types import AliasEvidence, Statement, Structure

if TYPE_CHECKING:
    from clew.types import Document

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
    if document.media_type != MEDIA_TYPE:
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
        yield _statement(document, sender, "sent", document.title, "name")
    if len(recipients) <= _MOST_RECIPIENTS:
        for one in recipients:
            if one != sender:
                yield _statement(document, sender, "wrote_to", _name(one), _type(one))


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


def _statement(
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
