"""A made-up graph on a real server, and what a scan of all of it would answer."""

from __future__ import annotations

import math
import random
import secrets
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from neo4j import Driver, GraphDatabase

from clew.plugins.neo4j.mapping import GraphMapping
from clew.settings import Neo4jSettings
from clew.testing.fakes import HashEmbedder
from clew.text import STOP_WORDS
from clew.types import Vector

FIRST = ("Ada", "Bo", "Cleo", "Dov", "Eva", "Finn", "Gil", "Hana")
LAST = ("Morn", "Reed", "Quill", "Vos", "Lind")
THINGS = ("clock", "bridge", "mill", "harbour", "lamp", "choir", "archive", "orchard")
DEEDS = ("built", "sold", "painted", "left", "praised", "burned", "mended")
TYPES = ("KNOWS", "TAUGHT")


class NoiseEmbedder(HashEmbedder):
    """Every text has a direction of its own, so that no two are equally near by accident."""

    def __init__(self) -> None:
        super().__init__(32, name="noise-32")

    def embed_query(self, text: str) -> Vector:
        vector = np.random.default_rng(zlib.crc32(text.encode())).standard_normal(32)
        unit: Vector = (vector / np.linalg.norm(vector)).astype(np.float32)
        return unit


EMBEDDER = NoiseEmbedder()


@dataclass
class World:
    """Passages that mention people who know each other."""

    texts: dict[str, str]
    """Text by id."""
    mentions: dict[str, list[str]]
    """Names by passage id."""
    relations: list[tuple[str, str, str]]
    """(name, type, name)"""
    keys: dict[str, str] = field(default_factory=dict)
    """The database's element id by passage id."""

    @property
    def names(self) -> list[str]:
        return sorted({name for names in self.mentions.values() for name in names})


def make_world(seed: int = 7, passages: int = 40) -> World:
    """Random, the same each time; every person is mentioned somewhere."""
    chance = random.Random(seed)
    people = [f"{first} {last}" for first in FIRST for last in chance.sample(LAST, 2)]
    texts, mentions = {}, {}
    for number in range(passages):
        told = list(dict.fromkeys([people[number % len(people)], chance.choice(people)]))
        filler = " ".join(chance.choices(THINGS + DEEDS, k=chance.randint(2, 9)))
        texts[f"p{number:02}"] = f"{' and '.join(told)} {chance.choice(DEEDS)} the {filler}."
        mentions[f"p{number:02}"] = told
    pairs = {tuple(chance.sample(people, 2)) for _ in range(len(people))}
    relations = [(a, chance.choice(TYPES), b) for a, b in sorted(pairs)]
    return World(texts, mentions, relations)


# --- on the server -----------------------------------------------------------------------


@dataclass(frozen=True)
class Town:
    """The world in a database, under labels that nobody else uses."""

    driver: Driver
    token: str
    world: World

    def name(self, kind: str) -> str:
        """`kind` with this town's token: a label or an index."""
        return f"{kind}{self.token}"

    @property
    def mapping(self) -> GraphMapping:
        return GraphMapping.model_validate(self.entries())

    def entries(self) -> dict[str, dict[str, object]]:
        """The mapping, to be changed by a test."""
        return {
            "passages": {
                "label": self.name("Passage"),
                "text": "body",
                "id": "code",
                "title": "heading",
                "source": "url",
                "vector_index": self.name("vectors"),
                "fulltext_index": self.name("words"),
            },
            "entities": {
                "labels": [self.name("Person")],
                "name": "called",
                "fulltext_index": self.name("people"),
            },
            "mentions": {"types": [self.name("SPEAKS_OF")], "direction": "out"},
            "relations": {"types": [self.name(type_) for type_ in TYPES]},
        }

    def run(self, query: str, **parameters: object) -> list[list[object]]:
        """Cypher in which `Passage@` stands for `name("Passage")`."""
        found = self.driver.execute_query(query.replace("@", self.token), parameters)
        return [list(record.values()) for record in found.records]


CREATE_PASSAGES = """
UNWIND $rows AS row
CREATE (p:Passage@ {code: row.code, body: row.body, heading: row.heading, url: row.url})
SET p.embedding = row.vector
WITH p, row UNWIND row.names AS name
MERGE (e:Person@ {called: name}) CREATE (p)-[:SPEAKS_OF@]->(e)
"""
CREATE_RELATIONS = """
UNWIND $rows AS row
MATCH (a:Person@ {called: row[0]}), (b:Person@ {called: row[2]})
CREATE (a)-[:$(row[1]) {since: 1900}]->(b)
"""
VECTOR_INDEX = """
CREATE VECTOR INDEX vectors@ FOR (n:Passage@) ON n.embedding
OPTIONS {indexConfig: {`vector.dimensions`: 32, `vector.similarity_function`: 'cosine'}}
"""
WORD_INDEX = "CREATE FULLTEXT INDEX words@ FOR (n:Passage@) ON EACH [n.body]"
NAME_INDEX = "CREATE FULLTEXT INDEX people@ FOR (n:Person@) ON EACH [n.called]"
DROP_INDEXES = ("DROP INDEX vectors@", "DROP INDEX words@", "DROP INDEX people@")


@contextmanager
def town(address: str, settings: Neo4jSettings, world: World) -> Iterator[Town]:
    """The world on a server, with its indexes; everything is removed afterwards."""
    password = settings.password.get_secret_value()
    login = (settings.user, password) if password else None
    with GraphDatabase.driver(
        address, auth=login, database=settings.database, notifications_min_severity="OFF"
    ) as driver:
        made = Town(driver, f"_{secrets.token_hex(4)}", world)
        try:
            _fill(made)
            yield made
        finally:
            for statement in DROP_INDEXES:
                made.run(f"{statement} IF EXISTS")
            made.run("MATCH (n:Passage@|Person@) DETACH DELETE n")


def _fill(made: Town) -> None:
    rows = [
        {
            "code": code,
            "body": text,
            "heading": f"Page {code}",
            "url": f"https://example.org/{code}",
            "vector": EMBEDDER.embed_query(text).tolist(),
            "names": made.world.mentions[code],
        }
        for code, text in made.world.texts.items()
    ]
    made.run(CREATE_PASSAGES, rows=rows)
    relations = [(a, made.name(type_), b) for a, type_, b in made.world.relations]
    made.run(CREATE_RELATIONS, rows=relations)
    for statement in (VECTOR_INDEX, WORD_INDEX, NAME_INDEX):
        made.run(statement)
    made.run("CALL db.awaitIndexes(60)")
    # A full-text index takes in what was written before it, and a little later what comes after.
    made.run("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()")
    for query in ("MATCH (p:Passage@) RETURN p.code", "MATCH (p:Person@) RETURN p.called"):
        made.world.keys.update(
            {str(name): str(key) for name, key in made.run(f"{query}, elementId(p)")}
        )


# --- what a scan answers -----------------------------------------------------------------


def cosines(world: World, question: str) -> dict[str, float]:
    """Of every passage."""
    asked = EMBEDDER.embed_query(question)
    return {code: float(EMBEDDER.embed_query(text) @ asked) for code, text in world.texts.items()}


def bm25(world: World, question: str) -> dict[str, float]:
    """Of every passage that holds a word of the question, as Lucene counts by default."""
    documents = {code: _words(text) for code, text in world.texts.items()}
    mean = sum(map(len, documents.values())) / len(documents)
    found: dict[str, float] = defaultdict(float)
    for word in dict.fromkeys(word for word in _words(question) if word not in STOP_WORDS):
        holding = [code for code, words in documents.items() if word in words]
        idf = math.log(1 + (len(documents) - len(holding) + 0.5) / (len(holding) + 0.5))
        for code in holding:
            count = Counter(documents[code])[word]
            length = 1 - 0.75 + 0.75 * len(documents[code]) / mean
            found[code] += idf * count / (count + 1.2 * length)
    return dict(found)


def _words(text: str) -> list[str]:
    return [word.strip(".,?").lower() for word in text.split()]


def by_score(world: World, scores: Mapping[str, float]) -> list[str]:
    """Best first; ties by the database's own ids."""
    return sorted(scores, key=lambda name: (-scores[name], world.keys[name]))


def votes(world: World, channels: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The sum of the reciprocal ranks, 1 / (60 + rank)."""
    found: dict[str, float] = defaultdict(float)
    for scores in channels:
        for rank, code in enumerate(by_score(world, scores), start=1):
            found[code] += 1 / (60 + rank)
    return dict(found)


def seeds(world: World, question: str) -> dict[str, float]:
    """Weights of the entities that are started from."""
    found: dict[str, float] = defaultdict(float)
    near = votes(world, [cosines(world, question), bm25(world, question)])
    for code in by_score(world, near)[:10]:
        for name in world.mentions[code]:
            found[name] += near[code]
    for name in world.names:
        if name.lower() in question.lower():
            found[name] += 1.0
    return {name: found[name] for name in by_score(world, found)[:10]}


def reached(world: World, question: str, hops: int) -> dict[str, float]:
    """Weights of the entities that so many relations lead to."""
    neighbours: dict[str, set[str]] = defaultdict(set)
    for a, _, b in world.relations:
        neighbours[a].add(b)
        neighbours[b].add(a)
    best: dict[str, float] = {}
    for seed, weight in seeds(world, question).items():
        front, seen = {seed}, {seed}
        for hop in range(hops + 1):
            for name in front:
                best[name] = max(best.get(name, 0.0), weight * 0.5**hop)
            front = {other for name in front for other in neighbours[name]} - seen
            seen |= front
    return best


def graph_scores(world: World, question: str, hops: int) -> dict[str, float]:
    """Weights of the passages that mention any of them."""
    weights = reached(world, question, hops)
    uses = Counter(name for names in world.mentions.values() for name in names)
    found: dict[str, float] = {}
    for code, names in world.mentions.items():
        known = [name for name in names if name in weights]
        if known:
            found[code] = sum(
                weights[name] * math.log(1 + len(world.texts) / uses[name]) for name in known
            )
    return found
