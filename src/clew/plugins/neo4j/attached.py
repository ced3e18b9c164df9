"""A graph that Clew did not make, asked through a mapping; nothing is ever written to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np

from clew.errors import InputError, ModelError
from clew.plugins.neo4j.connection import Neo4jDatabase, Row, lucene_phrases
from clew.plugins.neo4j.mapping import (
    Direction,
    GraphMapping,
    IndexInfo,
    IndexKind,
    Names,
    quoted,
    read_names,
    shown_names,
)
from clew.ports import Embedder
from clew.search.channels import RRF_K, Ranking, reciprocal_rank_fusion
from clew.text import STOP_WORDS, fold

STRATEGIES = ("hybrid", "local", "multi_hop")
MAX_HOPS = 3
"""Relationships from entity to entity, at most."""


class AttachedGraph:
    """Somebody else's graph, searched where it is."""

    def __init__(
        self, database: Neo4jDatabase, mapping: GraphMapping, make_embedder: Callable[[], Embedder]
    ) -> None:
        """Nothing is read yet; the embedder is made where there is a vector index to ask."""
        self._database = database
        self._mapping = mapping
        self._make_embedder = make_embedder

    @cached_property
    def _names(self) -> Names:
        return read_names(self._database)

    @cached_property
    def _embedder(self) -> Embedder:
        return self._make_embedder()

    def ask(
        self,
        question: str,
        *,
        strategy: str = "hybrid",
        limit: int = 10,
        max_hops: int = 2,
    ) -> GraphAnswer:
        """The passages that answer a question; one query.

        `hybrid` fuses what vectors and words find. `local` goes on to the passages of the entities
        that the question names or that the best passages found are tied to, `multi_hop` also to
        those of entities up to `max_hops` (1 to 3) relationships away. Raises `InputError` where
        the mapping names what the database does not have.
        """
        if strategy not in STRATEGIES:
            known = ", ".join(STRATEGIES)
            raise InputError(f"unknown strategy {strategy!r}; expected one of {known}")
        if limit < 1:
            raise InputError(f"limit {limit!r} cannot be; expected at least 1")
        if not 1 <= max_hops <= MAX_HOPS:
            raise InputError(f"max_hops {max_hops!r} cannot be; expected 1 to {MAX_HOPS}")
        notes: list[str] = []
        found = spans(question)
        channels, parameters = self._channels(question, found, notes)
        patterns = make_patterns(self._mapping, self._names, channels["vectors"])
        asked = {name: index is not None for name, index in channels.items()}
        if strategy == "hybrid":
            query = hybrid_query(patterns, vectors=asked["vectors"], words=asked["words"])
        elif patterns.mention_types:
            if strategy == "multi_hop" and not patterns.relations:
                notes.append("the mapping names no relations between entities; none were followed")
            query = graph_query(patterns, hops=max_hops if strategy == "multi_hop" else 0, **asked)
        else:
            raise InputError(
                f"strategy {strategy!r} needs entities: add [entities] and [mentions] to the"
                " mapping, or ask with the strategy 'hybrid'"
            )
        rows = self._database.rows(query, rrf_k=RRF_K, **LIMITS, **parameters)
        ranked = rank_rows(rows)
        seeds = tuple(str(name) for name in ranked[0][0]["seeds"]) if ranked else ()
        if strategy != "hybrid" and not seeds:
            notes.append("no entity was found to start from; vectors and words alone answer")
        named = frozenset(span["folded"] for span in found)
        vectors = channels["vectors"]
        similarity = vectors.similarity if vectors else ""
        return GraphAnswer(
            question=question,
            strategy=strategy,
            hits=tuple(make_hit(*one, named, similarity) for one in ranked[:limit]),
            seeds=seeds,
            notes=tuple(notes),
        )

    def _channels(
        self, question: str, found: Sequence[Mapping[str, Any]], notes: list[str]
    ) -> tuple[dict[str, IndexInfo | None], dict[str, object]]:
        """The indexes that can be asked, and the parameters of a query."""
        passages, entities = self._mapping.passages, self._mapping.entities
        text = lucene_words(question)
        words = self._index(passages.fulltext_index, "fulltext", notes) if text else None
        vectors = self._index(passages.vector_index, "vector", notes)
        vector = self._embed(question, vectors, notes) if vectors else None
        if words is None and vector is None:
            raise InputError("; ".join(["the question cannot be asked of this graph", *notes]))
        by_name = entities.fulltext_index if entities else None
        channels = {
            "vectors": None if vector is None else vectors,
            "words": words,
            "entity_index": self._index(by_name, "fulltext", notes) if by_name and found else None,
        }
        return channels, {
            "vector": vector,
            "vector_index": passages.vector_index,
            "words": text,
            "fulltext_index": passages.fulltext_index,
            "spans": found,
            "phrases": lucene_phrases(span["text"] for span in found),
            "entity_index": by_name,
        }

    def _index(self, name: str | None, kind: IndexKind, notes: list[str]) -> IndexInfo | None:
        """An index that can be asked; None, and a note, where there is none."""
        index = self._names.index(name, kind)
        if name is None:
            notes.append(f"the mapping names no {kind} index of the passages")
        elif index is None:
            others = shown_names([i.name for i in self._names.indexes if i.kind == kind])
            notes.append(f"the database has no {kind} index {name!r}; it has {others}")
        elif not index.online:
            notes.append(f"the {kind} index {name!r} is not online; it was left out")
        return index if index is not None and index.online else None

    def _embed(self, question: str, index: IndexInfo, notes: list[str]) -> list[float] | None:
        """The question's vector; None, and a note, where the index holds those of another model."""
        try:
            dimension = self._embedder.dimension
            if index.dimension in (None, dimension):
                return [float(value) for value in self._embedder.embed_query(question)]
            notes.append(
                f"vectors were left out: the index {index.name!r} has {index.dimension} dimensions,"
                f" the embedder {self._embedder.name!r} {dimension}; set embed.model to the model"
                " that the graph's vectors were made with"
            )
        except ModelError as error:
            notes.append(f"vectors were left out: {error}")
        return None


# From the rows of a query to an answer: passages in order, each with its scores and its path.


MAX_ENTITIES = 10
"""Entities that a hit names."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphStep:
    """One step of a path: from an entity over a relationship to the next, or to the passage."""

    entity: str
    type: str
    """Of the relationship."""
    forward: bool
    """Whether the relationship starts at this entity."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphHit:
    """A passage of the graph, and why it was found."""

    id: str
    title: str
    source: str
    text: str
    score: float
    """Higher is better; comparable within one answer only."""
    scores: Mapping[str, float]
    """By channel: `vector` (cosine, -1 to 1; of a Euclidean index 1 / (1 + distance²), 0 to 1),
    `keyword` (of the full-text index, above 0), `graph` (above 0)."""
    entities: tuple[str, ...]
    """Entities that it is tied to; of a walk over the graph those that were reached."""
    path: tuple[GraphStep, ...]
    """From an entity of the question, or of a passage like it, to this passage; may be empty."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphAnswer:
    """The answer to one question."""

    question: str
    strategy: str
    hits: tuple[GraphHit, ...]
    """Best first."""
    seeds: tuple[str, ...]
    """Names of the entities that the walk started from; none for `hybrid`."""
    notes: tuple[str, ...]
    """Whatever was missing."""


FoundPassage: TypeAlias = "Mapping[str, Any]"
"""A row of a query: `key`, the database's element id; `id`, `title`, `source`, `text`; the scores
`vector`, as the index gives it, `keyword` and `graph`, None where nothing led to it; `ways`, its
entities, the heaviest first, each with how it is tied and the steps that lead to it; `seeds`."""
_COLUMNS = "key id title source text vector keyword graph ways seeds".split()


def rank_rows(rows: Sequence[Row]) -> list[tuple[FoundPassage, float]]:
    """Passages and their scores, best first.

    Those that the graph leads to go first, fused by the reciprocal ranks of the three channels;
    then the others, by those of vectors and words.
    """
    found = [dict(zip(_COLUMNS, row, strict=True)) for row in sorted(rows, key=itemgetter(0))]
    for passage in found:
        passage["graph"] = passage["graph"] or None
    led = [place for place, passage in enumerate(found) if passage["graph"]]
    others = [place for place, passage in enumerate(found) if not passage["graph"]]
    ranking = _fused(found, others)
    if led:
        ranking = _fused(found, led).then(ranking)
    places, scores = ranking.ids.tolist(), ranking.scores.tolist()
    return [(found[place], score) for place, score in zip(places, scores, strict=True)]


def _fused(found: Sequence[FoundPassage], places: Sequence[int]) -> Ranking:
    """The passages at those places, by the reciprocal ranks of the channels that found them."""
    rankings = []
    for channel in ("vector", "keyword", "graph"):
        known = [place for place in places if found[place][channel] is not None]
        best = sorted(known, key=lambda place: (-found[place][channel], place))
        scores = np.array([found[place][channel] for place in best], dtype=np.float32)
        rankings.append(Ranking(np.array(best, dtype=np.int64), scores))
    return reciprocal_rank_fusion(rankings)


def make_hit(found: FoundPassage, score: float, named: frozenset[str], similarity: str) -> GraphHit:
    """A hit as it is shown; `named`: what the question names, folded.

    A path leads from the heaviest entity, or, where no walk was made, from one that is named.
    """
    vector, graph = found["vector"], found["graph"]
    if vector is not None and similarity == "cosine":
        vector = 2 * vector - 1
    scores = {"vector": vector, "keyword": found["keyword"], "graph": graph}
    ways = [way for way in found["ways"] if graph or str(way["entity"]).lower() in named]
    entities = dict.fromkeys(str(way["entity"]) for way in found["ways"])
    return GraphHit(
        id=found["id"] or found["key"],
        title=found["title"] or "",
        source=found["source"] or "",
        text=found["text"] or "",
        score=score,
        scores={name: value for name, value in scores.items() if value is not None},
        entities=tuple(entities)[:MAX_ENTITIES],
        path=tuple(
            GraphStep(entity=str(step["entity"]), type=step["type"], forward=step["out"])
            for way in ways[:1]
            for step in (*way["steps"], way)
        ),
    )


# The Cypher that asks somebody else's graph: one query a question, whatever the strategy.
#
# What a question says is a parameter, always. Labels, types and properties cannot be one: they
# are in
# `Patterns`, where each was checked against the database and quoted.


LIMITS = {
    "depth": 50,  # passages that a channel finds, and that the graph leads to
    "near": 10,  # of those found, passages whose entities are started from, too
    "seeds": 10,  # entities that are started from
    "fan_out": 25,  # relationships that are followed from one node, in each step
    "reach": 200,  # entities that are reached in all
}
"""How much a query reads, so that a hub costs no more than any other node; all are parameters."""
DECAY = 0.5
"""Share of its weight that an entity passes on over a relationship."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Patterns:
    """What queries are made of beside their own words; names are quoted."""

    passage: str
    """`` :`Label` ``"""
    columns: str
    """Expressions for id, title, source and text of `passage`, as strings."""
    embedding: str
    """Expression for the vector of `passage`; empty where there is no vector index."""
    similarity: str
    """`cosine` or `euclidean`."""
    labels: tuple[str, ...]
    """`` `Label` `` of entities, each; none where no entities are mapped."""
    name: str
    """`` `property` `` of an entity."""
    mention_types: str
    """`` `TYPE`|`TYPE` `` between passages and entities."""
    direction: Direction
    """`out`: relationships lead from the passage to the entity."""
    relations: str
    """`` `TYPE`|`TYPE` `` between entities; empty where none is to be followed."""

    @property
    def entity(self) -> str:
        """A node that has any of the labels: `` :`Label`|`Label` ``."""
        return ":" + "|".join(self.labels)

    def tie(self, variable: str = "") -> str:
        """A tie from a passage, which stands to its left, to an entity."""
        left, right = {"out": ("-", "->"), "in": ("<-", "-"), "both": ("-", "-")}[self.direction]
        return f"{left}[{variable}:{self.mention_types}]{right}"


def make_patterns(mapping: GraphMapping, names: Names, vectors: IndexInfo | None) -> Patterns:
    """The patterns of a mapping; raises `InputError` for a name that the database does not have."""
    passages, entities, mentions = mapping.passages, mapping.entities, mapping.mentions

    def column(name: str | None) -> str:
        if name is None:
            return "null"
        return f"toStringOrNull(passage.{quoted(name, names.properties, 'property')})"

    def types(wanted: tuple[str, ...]) -> str:
        return "|".join(quoted(name, names.types, "relationship type") for name in wanted)

    columns = (passages.id, passages.title, passages.source, passages.text)
    labels = entities.labels if entities else ()
    embedding = quoted(vectors.properties[0], names.properties, "property") if vectors else ""
    return Patterns(
        passage=f":{quoted(passages.label, names.labels, 'label')}",
        # Named, since no two columns may have one name: `null` twice, or one property twice.
        columns=", ".join(f"{column(name)} AS column_{n}" for n, name in enumerate(columns)),
        embedding=f"passage.{embedding}" if embedding else "",
        similarity="euclidean" if vectors and vectors.similarity == "euclidean" else "cosine",
        labels=tuple(quoted(label, names.labels, "label") for label in labels),
        name=quoted(entities.name, names.properties, "property") if entities else "",
        mention_types=types(mentions.types) if mentions else "",
        direction=mentions.direction if mentions else "out",
        relations=types(mapping.relations.types),
    )


def hybrid_query(patterns: Patterns, *, vectors: bool, words: bool) -> str:
    """What vectors and words find, each passage with the entities that it is tied to.

    Rows: as of `graph_query`, with no weight and no seeds.
    """
    ways = "WITH *, [] AS ways"
    if patterns.mention_types:
        ways = f"""
CALL (passage) {{
  MATCH (passage){patterns.tie("tie")}(entity{patterns.entity})
  WITH entity, tie LIMIT $fan_out
  RETURN collect({_way(patterns, "[]")}) AS ways
}}
""".strip()
    return f"""
{_channels(patterns, vectors=vectors, words=words)}
{ways}
RETURN elementId(passage), {patterns.columns}, vector, keyword, 0.0 AS graph, ways, [] AS seeds
"""


def graph_query(
    patterns: Patterns, *, hops: int, vectors: bool, words: bool, entity_index: bool
) -> str:
    """What vectors and words find, and the passages of entities within so many hops of the seeds.

    Seeds are the entities that the question names, then those of the best passages found. A seed
    weighs 1 or the reciprocal ranks of its passages, an entity reached the seed's weight times
    `DECAY` a hop; a passage the sum over its entities, each times ln(1 + passages / its passages).
    Rows: element id, id, title, source, text, vector, keyword, weight, ways, names of the seeds;
    a way is an entity of the passage with the steps that lead to it, the heaviest first.
    """
    return f"""
{_channels(patterns, vectors=vectors, words=words)}
ORDER BY vote DESC, elementId(passage)
WITH collect({{passage: passage, vote: vote, vector: vector, keyword: keyword}}) AS found
CALL (found) {{
  CALL (found) {{
    UNWIND found[..$near] AS near
    WITH near.passage AS passage, near.vote AS vote
    CALL (passage) {{
      MATCH (passage){patterns.tie()}(entity{patterns.entity}) RETURN DISTINCT entity LIMIT $fan_out
    }}
    RETURN entity, vote AS weight
    UNION ALL
{_named(patterns, entity_index=entity_index)}
    RETURN entity, 1.0 AS weight
  }}
  WITH entity, sum(weight) AS weight ORDER BY weight DESC, elementId(entity) LIMIT $seeds
  RETURN collect({{entity: entity, weight: weight}}) AS seeds
}}
CALL (seeds) {{
  UNWIND seeds AS seed
  WITH seed.entity AS e0, seed.weight AS started
  CALL (e0, started) {{
{_hops(patterns, hops)}
  }}
  WITH entity, weight, steps ORDER BY weight DESC, size(steps)
  WITH entity, collect({{weight: weight, steps: steps}})[0] AS best
  ORDER BY best.weight DESC, elementId(entity) LIMIT $reach
  RETURN collect({{entity: entity, weight: best.weight, steps: best.steps}}) AS reached
}}
CALL () {{ MATCH (passage{patterns.passage}) RETURN count(passage) AS total }}
CALL (found, reached, total) {{
  UNWIND reached AS one
  WITH found, total, one, one.entity AS entity
  WITH *, COUNT {{ (){patterns.tie()}(entity) }} AS uses WHERE uses > 0
  WITH found, one, entity, one.weight * log(1 + 1.0 * total / uses) AS weight
  CALL (found, entity) {{
    // The best of those found for sure, others in bounds.
    MATCH (passage{patterns.passage}){patterns.tie("tie")}(entity)
    RETURN passage, tie LIMIT $depth
    UNION
    UNWIND found[..$near] AS near
    WITH near.passage AS passage, entity
    MATCH (passage){patterns.tie("tie")}(entity)
    RETURN passage, tie
  }}
  WITH passage, one, entity, weight, head(collect(tie)) AS tie
  ORDER BY weight DESC, elementId(entity)
  WITH passage, sum(weight) AS weight, collect({_way(patterns, "one.steps")})[..$fan_out] AS led
  ORDER BY weight DESC, elementId(passage) LIMIT $depth
  RETURN passage, weight, led, null AS score, null AS words
  UNION ALL
  UNWIND found AS one
  RETURN one.passage AS passage, 0.0 AS weight, [] AS led, one.vector AS score, one.keyword AS words
}}
WITH passage, seeds, sum(weight) AS graph, max(score) AS vector, max(words) AS keyword,
  reduce(all = [], led IN collect(led) | all + led) AS ways
RETURN elementId(passage), {patterns.columns},
  CASE WHEN graph > 0 THEN coalesce(vector, {_similarity(patterns)}) ELSE vector END,
  keyword, graph, ways, [seed IN seeds | seed.entity.{patterns.name}]
"""


def _channels(patterns: Patterns, *, vectors: bool, words: bool) -> str:
    """Passages with their scores by channel and the sum of their reciprocal ranks."""
    # Indexes keep vectors in eight bits: what they find is scored again, by the full vectors.
    exact = f"coalesce({_similarity(patterns)}, score)"
    vector = "db.index.vector.queryNodes($vector_index, $depth, $vector)"
    keyword = "db.index.fulltext.queryNodes($fulltext_index, $words, {limit: $depth})"
    asked = [
        f"""
  CALL {procedure} YIELD node AS passage, score
  WITH passage, {score} AS score WHERE passage{patterns.passage}
  ORDER BY score DESC, elementId(passage)
  WITH collect({{passage: passage, score: score}}) AS found
  UNWIND range(0, size(found) - 1) AS place
  RETURN found[place].passage AS passage, 1.0 / ($rrf_k + 1 + place) AS vote, {columns}
"""
        for is_asked, procedure, score, columns in (
            (vectors, vector, exact, "found[place].score AS vector, null AS keyword"),
            (words, keyword, "score", "null AS vector, found[place].score AS keyword"),
        )
        if is_asked
    ]
    return f"""
CALL () {{{"  UNION ALL".join(asked)}}}
WITH passage, sum(vote) AS vote, max(vector) AS vector, max(keyword) AS keyword
""".strip()


def _named(patterns: Patterns, *, entity_index: bool) -> str:
    """Entities that the question names; of names within longer names only the longer."""
    name = f"entity.{patterns.name}"
    by_words = f"""
    CALL db.index.fulltext.queryNodes($entity_index, $phrases, {{limit: $reach}})
    YIELD node AS entity
    WITH entity, toLower(toStringOrNull({name})) AS name WHERE entity{patterns.entity}
    UNWIND [span IN $spans WHERE span.folded = name] AS span
"""
    # One label at a time, since an index on names is of one label.
    each = " UNION ".join(
        f"MATCH (entity:{label}) WHERE {name} IN [span IN $spans | span.text]"
        " RETURN entity LIMIT $reach"
        for label in patterns.labels
    )
    by_name = f"""
    CALL () {{ {each} }}
    UNWIND [span IN $spans WHERE span.text = {name}] AS span
"""
    return f"""
{(by_words if entity_index else by_name).strip()}
    WITH collect({{entity: entity, span: span}}) AS named
    UNWIND named AS one
    WITH one, [other IN named WHERE other.span.start <= one.span.start
      AND other.span.end >= one.span.end AND other.span.words > one.span.words] AS longer
    WITH one, longer WHERE size(longer) = 0
    WITH DISTINCT one.entity AS entity
""".strip("\n")


def _hops(patterns: Patterns, hops: int) -> str:
    """The seed itself, then what so many steps lead to: a branch for each number of them."""
    branches = ["    RETURN e0 AS entity, started AS weight, [] AS steps"]
    steps: list[str] = []
    trail: list[str] = []
    for hop in range(1, (hops if patterns.relations else 0) + 1):
        before, here, relation = f"e{hop - 1}", f"e{hop}", f"r{hop}"
        passed = ", ".join(f"e{i}" for i in range(hop))
        trail.append(
            f"    CALL ({passed}) {{\n"
            f"      MATCH ({before})-[{relation}:{patterns.relations}]-({here}{patterns.entity})\n"
            f"      WHERE NOT {here} IN [{passed}] RETURN {relation}, {here} LIMIT $fan_out\n"
            "    }"
        )
        steps.append(
            f"{{entity: {before}.{patterns.name}, type: type({relation}),"
            f" out: startNode({relation}) = {before}}}"
        )
        branches.append(
            "\n".join(trail) + f"\n    RETURN {here} AS entity, started * {DECAY**hop} AS weight,"
            f" [{', '.join(steps)}] AS steps"
        )
    return "\n    UNION ALL\n".join(branches)


def _way(patterns: Patterns, steps: str) -> str:
    """An entity of a passage, how it is tied to it, and the steps that led to the entity."""
    return (
        f"{{entity: entity.{patterns.name}, type: type(tie), out: startNode(tie) = entity,"
        f" steps: {steps}}}"
    )


def _similarity(patterns: Patterns) -> str:
    """Of a passage that no index was asked for; null where its vector is of another model."""
    if not patterns.embedding:
        return "null"
    return (
        f"CASE WHEN size({patterns.embedding}) = size($vector) THEN"
        f" vector.similarity.{patterns.similarity}({patterns.embedding}, $vector) END"
    )


# What a question offers to look for: words for a full-text index, and what may be names.


MAX_WORDS = 100
"""Words of a question that count."""
LONGEST_NAME = 6
"""Words of a name, at most; each character is one in scripts without spaces."""

_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+(?:['’.&-]+[^\W_{_UNSPACED}]+)*")
_POSSESSIVE = re.compile(r"['’]s\b")
_OPERATORS = frozenset({"AND", "OR", "NOT"})


def spans(question: str) -> list[dict[str, Any]]:
    """Every sequence of words that may be a name, in order, as queries read it.

    `text` as the question writes it, `folded` in small letters, as Cypher's toLower makes them;
    `start`, its first word, `end`, the word after its last, and how many `words` it has.
    """
    text = _POSSESSIVE.sub("", question)
    words = list(_WORD.finditer(text))[:MAX_WORDS]
    common = [fold(word.group()) in STOP_WORDS for word in words]
    found = []
    for start in range(len(words)):
        for end in range(start + 1, min(start + LONGEST_NAME, len(words)) + 1):
            if not all(common[start:end]):
                name = text[words[start].start() : words[end - 1].end()]
                place = {"start": start, "end": end, "words": end - start}
                found.append({"text": name, "folded": name.lower(), **place})
    return found


def lucene_words(question: str) -> str:
    """The question's words as a query for a full-text index, any of them; may be empty.

    The index has its own way with case and endings: the words stay as they are. Stop words go,
    unless there are no others.
    """
    found = [word.group() for word in _WORD.finditer(question)][:MAX_WORDS]
    telling = [word for word in found if fold(word) not in STOP_WORDS] or found
    # Letters and digits need no quotes, and operators are written in capitals.
    named = (word.lower() if word in _OPERATORS else word for word in dict.fromkeys(telling))
    return " ".join(word if word.isalnum() else lucene_phrases([word]) for word in named)
