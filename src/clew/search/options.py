"""What a caller gives beside the question: options, dates, hierarchies; all checked."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, TypeAlias

from dateutil.relativedelta import relativedelta

from clew.errors import InputError
from clew.types import Filter, Period

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from clew.ports import LanguageModel
    from clew.types import Fusion

Moment: TypeAlias = datetime | date | str
"""A `datetime` (without a zone: UTC), a day, or a text that names a time."""

_MONTH = re.compile(r"\d{4}-\d{2}", re.ASCII)
_INSTANT = timedelta(microseconds=1)

RAG_TYPES: Mapping[str, Mapping[str, Any]] = {
    "traditional": {"strategy": "vector"},
    "contextual": {"strategy": "hybrid", "limit": 20},
    "graph": {"strategy": "auto"},
}
"""Kinds of retrieval by what they mean where the caller says nothing else.

`traditional`: the text alone, by meaning. `contextual`: text and context, by meaning and by words.
`graph`: whatever strategy suits the question.
"""
CONTEXTUAL_DEPTH = 150
"""Passages that each channel finds for `contextual`."""
MAX_HOPS = 5
"""Steps from entity to entity, at most."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """What the caller asks for; equal options of one question have one answer.

    Raises `InputError` for values that cannot be.
    """

    strategy: str
    limit: int
    """Passages, at most; at least 1."""
    max_tokens: int
    """Tokens of the context, at most; at least 1."""
    now: datetime
    """When "today" is, in the zone that it is meant in."""
    rag_type: str = ""
    """`traditional` or `contextual`, where that chose the strategy; see `RAG_TYPES`."""
    where: tuple[Filter, ...] = ()
    """All of which must be met."""
    since: datetime | None = None
    until: datetime | None = None
    """Exclusive."""
    as_of: datetime | None = None
    temporal: bool | None = None
    """Keep to the period that the question names (True), ignore it (False), or prefer it (None)."""
    max_hops: int = 2
    """Steps from entity to entity, 1 to 5."""
    fusion: Fusion = "rrf"
    """How `hybrid` fuses its two channels."""
    alpha: float | None = None
    """Share of keywords in the weighted fusion, 0 to 1; None: the router's."""
    weights: tuple[float, float, float] = (0.6, 0.3, 0.1)
    """Of `weighted`: vector, graph, time; each at least 0."""
    layer: str = "section"
    """Where `hierarchical` searches: `document`, `section`, `passage`, or a type of entity."""
    hierarchy: str = ""
    """Declared, such as `person -works_at-> organisation`; empty: the outline of documents."""
    level: int | None = None
    """Level of communities, 0 for the coarsest; None: the finest that fits the budget."""
    fast: bool = False
    """Leave out the reader, which takes most of a question's time."""
    rerank: bool = True
    """Use the reranker where one is configured."""
    rerank_weight: float | None = None
    """Share of the reranker in the order, 0 to 1; None: the setting `rerank.weight`."""
    per_document: int | None = None
    """Passages of one document, at most; None: any number."""
    vector: tuple[float, ...] | None = None
    """The question's embedding, where the caller brings it."""
    model_filter: bool | None = None
    """Let the language model choose among the best passages; None: the setting `llm.filter`."""
    explain: bool = True
    """Look up what the graph has to say of each hit: entities, relations, the thread to it."""
    min_confidence: float = 0.0
    """Probability from which the best passage counts as an answer, 0 to 1; 0: whatever it is."""
    model: LanguageModel | None = None
    """Asked in place of the store's own, so that what one answer takes is counted together."""
    given: frozenset[str] = frozenset()
    """Names of the options that the caller gave, rather than the settings."""
    context: bool = True
    """Assemble the context; without it that is empty."""
    context_passages: bool = True
    """Put passages into the context, beside what the strategy made: paths, reports, a timeline."""

    def __post_init__(self) -> None:
        _check("limit", self.limit, 1, None)
        _check("max_tokens", self.max_tokens, 1, None)
        _check("max_hops", self.max_hops, 1, MAX_HOPS)
        _check("min_confidence", self.min_confidence, 0, 1)
        if self.alpha is not None:
            _check("alpha", self.alpha, 0, 1)
        if self.rerank_weight is not None:
            _check("rerank_weight", self.rerank_weight, 0, 1)
        if self.per_document is not None:
            _check("per_document", self.per_document, 1, None)
        if self.level is not None:
            _check("level", self.level, 0, None)
        for weight in self.weights:
            _check("weights", weight, 0, None)
        _check_order(self.since, self.until)
        if self.hierarchy:
            parse_hierarchy(self.hierarchy)

    @property
    def period(self) -> Period | None:
        """The period given by hand; None where none is."""
        if self.since is None and self.until is None:
            return None
        return Period(start=self.since, end=self.until)


def _check(name: str, value: float, least: float, most: float | None) -> None:
    if not (value >= least and (most is None or value <= most)):  # so that nan is refused, too
        expected = f"at least {least}" if most is None else f"{least} to {most}"
        raise InputError(f"{name} {value!r} cannot be; expected {expected}")


def _check_order(since: datetime | None, until: datetime | None) -> None:
    if since is not None and until is not None and since >= until:
        raise InputError(
            f"since {since.isoformat()} is not before until {until.isoformat()};"
            " nothing lies between them"
        )


def rag_defaults(rag_type: str) -> Mapping[str, Any]:
    """What a kind of retrieval means; raises `InputError` for one that there is not."""
    if rag_type not in RAG_TYPES:
        raise InputError(f"unknown rag_type {rag_type!r}; expected one of {', '.join(RAG_TYPES)}")
    return RAG_TYPES[rag_type]


# --- dates: `2019`, `2019-05-08`, `last week` -------------------------------------------------


def read_period(since: Moment | None, until: Moment | None, now: datetime) -> Period:
    """The period given by hand; raises `InputError` where nothing lies within it."""
    start, end = read_start("since", since, now), read_end("until", until, now)
    _check_order(start, end)
    return Period(start=start, end=end)


def read_start(name: str, given: Moment | None, now: datetime) -> datetime | None:
    """The first moment of what was given; raises `InputError` for what names no time."""
    if given is None:
        return None
    return _exactly(given) or _side(name, given, _period(name, given, now).start)


def read_end(name: str, given: Moment | None, now: datetime) -> datetime | None:
    """The first moment after what was given; raises `InputError` for what names no time."""
    if given is None:
        return None
    return _exactly(given) or _side(name, given, _period(name, given, now).end)


def read_last(name: str, given: Moment | None, now: datetime) -> datetime | None:
    """The last moment of what was given; raises `InputError` for what names no time."""
    end = read_end(name, given, now)
    return end if end is None or _exactly(given) else end - _INSTANT


def _exactly(given: Moment | None) -> datetime | None:
    """The moment itself, where one and not a day was given."""
    if isinstance(given, str) and len(given) > len("2019-01-01") and "T" in given:
        try:
            given = datetime.fromisoformat(given)
        except ValueError:
            return None
    if not isinstance(given, datetime):
        return None
    return given.replace(tzinfo=given.tzinfo or UTC).astimezone(UTC)


def _period(name: str, given: Moment, now: datetime) -> Period:
    from clew.times import find_periods, read_period

    if isinstance(given, date):
        return _day(given)
    if len(given) == len("2019-05-08"):
        with suppress(ValueError):  # a day of any year of the calendar
            return _day(date.fromisoformat(given))
    month = _MONTH.fullmatch(given)
    read = read_period(f"{given}-01" if month else given)
    if month and read is not None and read.start is not None:
        return replace(read, end=read.start + relativedelta(months=1))
    if read is not None:
        return read
    found = find_periods(given, now)
    if len(found) == 1 and (found[0].start, found[0].end) == (0, len(given)):
        return found[0].period
    raise InputError(
        f"{name} {given!r} is no time; expected a date such as 2019, 2019-05 or 2019-05-08, a time"
        " such as 2019-05-08T12:00, or words such as 'last week'"
    )


def _day(day: date) -> Period:
    start = datetime.combine(day, time(), UTC)
    is_last = day == date.max
    return Period(
        start=start, end=datetime.max.replace(tzinfo=UTC) if is_last else start + timedelta(days=1)
    )


def _side(name: str, given: Moment, moment: datetime | None) -> datetime:
    if moment is None:
        raise InputError(f"{name} {given!r} has no such side; expected a date such as 2019-05-08")
    return moment


# --- declared hierarchies: `person -works_at-> organisation` ----------------------------------

_TYPE = re.compile(r"(?P<type>[a-z][a-z0-9_]*+)\s*+")
_STEP = re.compile(
    r"(?:-\s*+(?P<down>[a-z][a-z0-9_]*+)\s*+->|<-\s*+(?P<up>[a-z][a-z0-9_]*+)\s*+-)\s*+",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class HierarchyStep:
    """A relation type between two neighbouring layers."""

    relation_type: str
    forward: bool
    """Whether it leads from the layer before to the layer after."""


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Types of entities, and the relations that lead from each to the next."""

    types: tuple[str, ...]
    steps: tuple[HierarchyStep, ...]


def parse_hierarchy(text: str) -> Hierarchy:
    """`person -works_at-> organisation <-part_of- place`; raises `InputError` for what is none."""
    text = text.strip()
    types: list[str] = []
    steps: list[HierarchyStep] = []
    at = 0
    while match := _TYPE.match(text, at):
        types.append(match["type"])
        at = match.end()
        step = _STEP.match(text, at)
        if step is None:
            break
        steps.append(HierarchyStep(step["down"] or step["up"], step["down"] is not None))
        at = step.end()
    if at != len(text) or len(types) != len(steps) + 1 or len(types) < 2:
        raise InputError(
            f"cannot read the hierarchy {text!r}; expected types of entities with relations between"
            " them, such as 'person -works_at-> organisation -part_of-> organisation'"
        )
    return Hierarchy(tuple(types), tuple(steps))
