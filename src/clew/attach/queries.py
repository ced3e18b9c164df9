"""The Cypher that asks somebody else's graph: one query a question, whatever the strategy.

What a question says is a parameter, always. Labels, types and properties cannot be one: they are in
`Patterns`, where each was checked against the database and quoted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.attach.schema import quoted

if TYPE_CHECKING:
    from clew.attach.mapping import Direction, GraphMapping
    from clew.attach.schema import IndexInfo, Names

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
_ARROWS = {"out": ("-", "->"), "in": ("<-", "-"), "both": ("-", "-")}


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
        left, right = _ARROWS[self.direction]
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
    return f"""
{_channels(patterns, vectors=vectors, words=words)}
{_ways(patterns)}
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
{_passages(patterns)}
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
    vector = "db.index.vector.queryNodes($vector_index, $depth, $vector)"
    keyword = "db.index.fulltext.queryNodes($fulltext_index, $words, {limit: $depth})"
    asked = []
    if vectors:
        # Indexes keep vectors in eight bits: what they find is scored again, by the full vectors.
        exact = f"coalesce({_similarity(patterns)}, score)"
        asked.append(
            _channel(patterns, vector, exact, "found[place].score AS vector, null AS keyword")
        )
    if words:
        asked.append(
            _channel(patterns, keyword, "score", "null AS vector, found[place].score AS keyword")
        )
    return f"""
CALL () {{{"  UNION ALL".join(asked)}}}
WITH passage, sum(vote) AS vote, max(vector) AS vector, max(keyword) AS keyword
""".strip()


def _channel(patterns: Patterns, procedure: str, score: str, columns: str) -> str:
    return f"""
  CALL {procedure} YIELD node AS passage, score
  WITH passage, {score} AS score WHERE passage{patterns.passage}
  ORDER BY score DESC, elementId(passage)
  WITH collect({{passage: passage, score: score}}) AS found
  UNWIND range(0, size(found) - 1) AS place
  RETURN found[place].passage AS passage, 1.0 / ($rrf_k + 1 + place) AS vote, {columns}
"""


def _ways(patterns: Patterns) -> str:
    if not patterns.mention_types:
        return "WITH *, [] AS ways"
    return f"""
CALL (passage) {{
  MATCH (passage){patterns.tie("tie")}(entity{patterns.entity})
  WITH entity, tie LIMIT $fan_out
  RETURN collect({_way(patterns, "[]")}) AS ways
}}
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


def _passages(patterns: Patterns) -> str:
    """The passages of the entities reached; the best of those found for sure, others in bounds."""
    return f"""
  UNWIND reached AS one
  WITH found, total, one, one.entity AS entity
  WITH *, COUNT {{ (){patterns.tie()}(entity) }} AS uses WHERE uses > 0
  WITH found, one, entity, one.weight * log(1 + 1.0 * total / uses) AS weight
  CALL (found, entity) {{
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
""".strip("\n")


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
