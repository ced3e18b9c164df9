"""Who a person is, and by which other names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clew.indexing.ner.entity_types import is_person_shaped
from clew.indexing.reading.formats.mail.people import Person
from clew.types import AliasEvidence

_ALIAS_SCORE = 0.95


def type_of(one: Person) -> str:
    """A person where the name has the shape of one's."""
    return "person" if is_person_shaped(one.name) else "name"


def aliases(people: Iterable[Person]) -> Iterator[AliasEvidence]:
    """The address of each as another name."""
    for one in people:
        if one.name and one.address:
            yield alias(one.address, one.name, f'"{one.name}" <{one.address}>')


def alias(other: str, name: str, evidence: str) -> AliasEvidence:
    """Another name of somebody, and what says so."""
    return AliasEvidence(
        alias=other, name=name, method="exact", score=_ALIAS_SCORE, evidence=evidence
    )
