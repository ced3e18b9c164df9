"""A made-up graph of films on a real server, and questions whose answers are counted by hand."""

from __future__ import annotations

import random
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import fmean
from typing import TypeAlias

from neo4j import Driver, GraphDatabase

from clew.settings import Neo4jSettings

FIRST = ("Ines", "Karl", "Mira", "Otto", "Paula", "Rui", "Sela", "Tom", "Una", "Vik")
LAST = ("Abel", "Brandt", "Costa", "Dunn", "Eze", "Falk")
OPENINGS = ("The Last", "A Quiet", "Beyond the", "Return to", "Night at", "Under the")
THINGS = ("Lantern", "Harbour", "Orchard", "Signal", "Winter", "Meadow", "Bridge")
GENRES = ("drama", "comedy", "thriller", "western")
STUDIOS = {"Northlight": "Oslo", "Palmera": "Lisbon", "Redwood": "Oslo", "Vantage": "Prague"}
ROLES = ("the captain", "a thief", "the sister", "the judge", "a pilot")

Value: TypeAlias = str | int | float
Rows: TypeAlias = Sequence[tuple[Value, ...]]


@dataclass(frozen=True)
class Films:
    """The graph, and what its edges say."""

    born: dict[str, int]
    """Year by person."""
    films: dict[str, tuple[int, int]]
    """(year, minutes) by title; no two last equally long."""
    genre: dict[str, str]
    studio: dict[str, str]
    acted: dict[tuple[str, str], str]
    """Role by (person, film)."""
    directed: set[tuple[str, str]]
    reviewed: dict[tuple[str, str], int]
    """Stars by (person, film)."""
    follows: set[tuple[str, str]]

    def cast(self, film: str) -> set[str]:
        return {person for person, other in self.acted if other == film}

    def acts(self, person: str) -> set[str]:
        return {film for other, film in self.acted if other == person}

    def directs(self, person: str) -> set[str]:
        return {film for other, film in self.directed if other == person}

    def directors(self, film: str) -> set[str]:
        return {person for person, other in self.directed if other == film}

    def followers(self, person: str) -> set[str]:
        return {a for a, b in self.follows if b == person}

    def followed(self, person: str) -> set[str]:
        return {b for a, b in self.follows if a == person}

    def of_genre(self, genre: str) -> set[str]:
        return {film for film, other in self.genre.items() if other == genre}

    def of_studio(self, studio: str) -> set[str]:
        return {film for film, other in self.studio.items() if other == studio}


def make_films(seed: int = 11) -> Films:
    """Random, the same each time."""
    chance = random.Random(seed)
    people = [f"{first} {last}" for first in FIRST for last in chance.sample(LAST, 3)]
    titles = [f"{opening} {thing}" for opening in OPENINGS for thing in THINGS]
    minutes = chance.sample(range(70, 190), len(titles))
    acted = {
        (person, film): chance.choice(ROLES)
        for film in titles
        for person in chance.sample(people, 4)
    }
    pairs = {tuple(chance.sample(people, 2)) for _ in range(2 * len(people))}
    return Films(
        born={person: chance.randint(1920, 1999) for person in people},
        films={t: (chance.randint(1960, 1990), m) for t, m in zip(titles, minutes, strict=True)},
        genre={title: chance.choice(GENRES) for title in titles},
        studio={title: chance.choice(list(STUDIOS)) for title in titles},
        acted=acted,
        directed={
            (person, title)
            for title in titles
            for person in chance.sample(people, chance.choice((1, 1, 2)))
        },
        reviewed={
            (chance.choice(people), title): chance.randint(1, 5)
            for title in chance.sample(titles, 30)
        },
        follows={(a, b) for a, b in pairs},
    )


@dataclass(frozen=True)
class Gold:
    """A question, the query that answers it, and its answer as counted from `Films`."""

    form: int
    question: str
    query: str
    """`Film@` stands for the label that the test uses."""
    parameters: Mapping[str, Value]
    answer: Rows


@dataclass
class _Forms:
    """Questions of one form after the other."""

    films: Films
    golds: list[Gold] = field(default_factory=list)
    form: int = 0

    def add(
        self,
        question: str,
        query: str,
        answer: Callable[..., Rows],
        *given: Mapping[str, Value],
    ) -> None:
        """A question of the form for each of `given`, which are its parameters."""
        self.form += 1
        for values in given or ({},):
            asked, rows = question.format(**values), answer(**values)
            self.golds.append(Gold(self.form, asked, " ".join(query.split()), values, rows))


def _values(**given: Value) -> dict[str, Value]:
    return given


def _each(values: set[str]) -> Rows:
    return [(value,) for value in values]


def make_golds(films: Films, seed: int = 5) -> list[Gold]:
    """Questions of 28 forms."""
    chance = random.Random(seed)
    people = sorted(films.born)
    directors = sorted({person for person, _ in films.directed})
    titles = sorted(films.films)

    def some(name: str, values: Sequence[Value], count: int = 3) -> list[dict[str, Value]]:
        return [{name: value} for value in chance.sample(list(values), count)]

    forms = _Forms(films)
    add = forms.add
    add("How many films are there?", "MATCH (f:Film@) RETURN count(f)", lambda: [(len(titles),)])
    add(
        "Which films did {person} direct?",
        "MATCH (p:Person@ {name: $person})-[:DIRECTED@]->(f:Film@) RETURN f.title",
        lambda person: _each(films.directs(person)),
        *some("person", directors),
    )
    add(
        "Who acted in {film}?",
        "MATCH (p:Person@)-[:ACTED_IN@]->(f:Film@) WHERE f.title = $film RETURN p.name",
        lambda film: _each(films.cast(film)),
        *some("film", titles),
    )
    add(
        "Who directed {film}?",
        "MATCH (f:Film@ {title: $film})<-[:DIRECTED@]-(p:Person@) RETURN p.name",
        lambda film: _each(films.directors(film)),
        *some("film", titles),
    )
    add(
        "In which films did {person} act?",
        "MATCH (p:Person@)-[:ACTED_IN@]->(f:Film@) WHERE toLower(p.name) = toLower($person)"
        " RETURN f.title",
        lambda person: _each(films.acts(person)),
        *some("person", people),
    )
    add(
        "How many films did {person} act in?",
        "MATCH (p:Person@ {name: $person})-[:ACTED_IN@]->(f:Film@) RETURN count(DISTINCT f)",
        lambda person: [(len(films.acts(person)),)],
        *some("person", people),
    )
    add(
        "Which films came out in {year}?",
        "MATCH (f:Film@) WHERE f.year = $year RETURN f.title",
        lambda year: [(t,) for t, (y, _) in films.films.items() if y == year],
        *some("year", sorted({year for year, _ in films.films.values()})),
    )
    add(
        "Which films of the genre {genre} came out after {year}?",
        "MATCH (f:Film@)-[:IN_GENRE@]->(:Genre@ {name: $genre}) WHERE f.year > $year"
        " RETURN f.title",
        lambda genre, year: [(t,) for t in films.of_genre(genre) if films.films[t][0] > year],
        *(_values(genre=genre, year=1975) for genre in GENRES[:3]),
    )
    add(
        "Which studio produced {film}?",
        "MATCH (s:Studio@)-[:PRODUCED@]->(f:Film@ {title: $film}) RETURN s.name",
        lambda film: [(films.studio[film],)],
        *some("film", titles),
    )
    add(
        "How many films did {studio} produce?",
        "MATCH (s:Studio@ {name: $studio})-[:PRODUCED@]->(f:Film@) RETURN count(f)",
        lambda studio: [(len(films.of_studio(studio)),)],
        *some("studio", list(STUDIOS)),
    )
    add(
        "Who acted in a film that {person} directed?",
        "MATCH (d:Person@ {name: $person})-[:DIRECTED@]->(f:Film@)<-[:ACTED_IN@]-(a:Person@)"
        " RETURN DISTINCT a.name",
        lambda person: _each({a for f in films.directs(person) for a in films.cast(f)}),
        *some("person", directors),
    )
    add(
        "Which actors played together with {person}?",
        "MATCH (p:Person@ {name: $person})-[:ACTED_IN@]->(f:Film@)<-[:ACTED_IN@]-(a:Person@)"
        " RETURN DISTINCT a.name",
        lambda person: _each({a for f in films.acts(person) for a in films.cast(f)} - {person}),
        *some("person", sorted({person for person, _ in films.acted})),
    )
    add(
        "What is the longest film of the genre {genre}?",
        "MATCH (f:Film@)-[:IN_GENRE@]->(g:Genre@) WHERE g.name = $genre"
        " RETURN f.title ORDER BY f.minutes DESC LIMIT 1",
        lambda genre: [(max(films.of_genre(genre), key=lambda t: films.films[t][1]),)],
        *some("genre", GENRES),
    )
    add(
        "How long are the films of {studio} on average?",
        "MATCH (:Studio@ {name: $studio})-[:PRODUCED@]->(f:Film@) RETURN round(avg(f.minutes), 2)",
        lambda studio: [(round(fmean(films.films[t][1] for t in films.of_studio(studio)), 2),)],
        *some("studio", list(STUDIOS)),
    )
    add(
        "Who follows {person}?",
        "MATCH (a:Person@)-[:FOLLOWS@]->(:Person@ {name: $person}) RETURN a.name",
        lambda person: _each(films.followers(person)),
        *some("person", people),
    )
    add(
        "Whom does {person} follow?",
        "MATCH (:Person@ {name: $person})-[:FOLLOWS@]->(b:Person@) RETURN b.name",
        lambda person: _each(films.followed(person)),
        *some("person", people),
    )
    add(
        "Who follows somebody who follows {person}?",
        "MATCH (a:Person@)-[:FOLLOWS@]->(:Person@)-[:FOLLOWS@]->(:Person@ {name: $person})"
        " RETURN DISTINCT a.name",
        lambda person: _each({a for b in films.followers(person) for a in films.followers(b)}),
        *some("person", people),
    )
    add(
        "Which people directed a film that they acted in?",
        "MATCH (p:Person@)-[:DIRECTED@]->(f:Film@) WHERE EXISTS { (p)-[:ACTED_IN@]->(f) }"
        " RETURN DISTINCT p.name",
        lambda: _each({person for person, film in films.directed & films.acted.keys()}),
    )
    add(
        "Which role did {person} play in {film}?",
        "MATCH (:Person@ {name: $person})-[r:ACTED_IN@]->(:Film@ {title: $film}) RETURN r.role",
        lambda person, film: [(films.acted[person, film],)],
        *(_values(person=p, film=f) for p, f in chance.sample(sorted(films.acted), 3)),
    )
    add(
        "Which films did {person} give at least {stars} stars?",
        "MATCH (:Person@ {name: $person})-[r:REVIEWED@]->(f:Film@) WHERE r.stars >= $stars"
        " RETURN f.title",
        lambda person, stars: [
            (f,) for (p, f), n in films.reviewed.items() if p == person and n >= stars
        ],
        *(
            _values(person=p, stars=n)
            for p, n in list({p: n for (p, _), n in films.reviewed.items()}.items())[:3]
        ),
    )
    add(
        "Which films has nobody reviewed?",
        "MATCH (f:Film@) WHERE NOT EXISTS { (:Person@)-[:REVIEWED@]->(f) } RETURN f.title",
        lambda: _each(set(titles) - {film for _, film in films.reviewed}),
    )
    add(
        "Of which genres did {person} direct films?",
        "MATCH (p:Person@ {name: $person})-[:DIRECTED@]->(:Film@)-[:IN_GENRE@]->(g:Genre@)"
        " RETURN DISTINCT g.name",
        lambda person: _each({films.genre[f] for f in films.directs(person)}),
        *some("person", directors),
    )
    add(
        "Who was born before {year} and acted in a film of the genre {genre}?",
        "MATCH (p:Person@)-[:ACTED_IN@]->(:Film@)-[:IN_GENRE@]->(g:Genre@ {name: $genre})"
        " WHERE p.born < $year RETURN DISTINCT p.name",
        lambda year, genre: _each(
            {p for p, f in films.acted if films.born[p] < year and films.genre[f] == genre}
        ),
        *(_values(year=1950, genre=genre) for genre in GENRES[1:]),
    )
    add(
        "How many films are there of each genre?",
        "MATCH (f:Film@)-[:IN_GENRE@]->(g:Genre@) RETURN g.name, count(f)",
        lambda: list(Counter(films.genre.values()).items()),
    )
    add(
        "Which films of studios in {city} did {person} act in?",
        "MATCH (s:Studio@ {city: $city})-[:PRODUCED@]->(f:Film@)<-[:ACTED_IN@]-(p:Person@)"
        " WHERE p.name = $person RETURN f.title",
        lambda city, person: [(f,) for f in films.acts(person) if STUDIOS[films.studio[f]] == city],
        *(_values(city="Oslo", person=person) for person in chance.sample(people, 3)),
    )
    add(
        "Whom does {person} reach by following others, in two steps at most?",
        "MATCH (p:Person@ {name: $person})-[:FOLLOWS@*1..2]->(b:Person@)"
        " WHERE b <> p RETURN DISTINCT b.name",
        lambda person: _each(
            films.followed(person).union(*map(films.followed, films.followed(person))) - {person}
        ),
        *some("person", people),
    )
    add(
        "Which three people acted in most films?",
        "MATCH (p:Person@)-[:ACTED_IN@]->(f:Film@) WITH p, count(f) AS films"
        " RETURN p.name, films ORDER BY films DESC, p.name LIMIT 3",
        lambda: sorted(
            Counter(p for p, _ in films.acted).items(), key=lambda pair: (-pair[1], pair[0])
        )[:3],
    )
    add(
        "Which other films are by a director of {film}?",
        "MATCH (f:Film@ {title: $film})<-[:DIRECTED@]-(:Person@)-[:DIRECTED@]->(o:Film@)"
        " RETURN DISTINCT o.title",
        lambda film: _each({o for p in films.directors(film) for o in films.directs(p)} - {film}),
        *some("film", titles),
    )
    return forms.golds


# --- on the server -----------------------------------------------------------------------

_FILL = """
UNWIND $people AS row CREATE (:Person@ {name: row[0], born: row[1]})
WITH count(*) AS done UNWIND $studios AS row CREATE (:Studio@ {name: row[0], city: row[1]})
WITH count(*) AS done UNWIND $genres AS name CREATE (:Genre@ {name: name})
WITH count(*) AS done UNWIND $films AS row
MATCH (s:Studio@ {name: row[3]}), (g:Genre@ {name: row[4]})
CREATE (s)-[:PRODUCED@]->(:Film@ {title: row[0], year: row[1], minutes: row[2]})-[:IN_GENRE@]->(g)
"""
_TIES = {
    "ACTED_IN": "MATCH (a:Person@ {name: row[0]}), (b:Film@ {title: row[1]})"
    " CREATE (a)-[:ACTED_IN@ {role: row[2]}]->(b)",
    "DIRECTED": "MATCH (a:Person@ {name: row[0]}), (b:Film@ {title: row[1]})"
    " CREATE (a)-[:DIRECTED@]->(b)",
    "REVIEWED": "MATCH (a:Person@ {name: row[0]}), (b:Film@ {title: row[1]})"
    " CREATE (a)-[:REVIEWED@ {stars: row[2]}]->(b)",
    "FOLLOWS": "MATCH (a:Person@ {name: row[0]}), (b:Person@ {name: row[1]})"
    " CREATE (a)-[:FOLLOWS@]->(b)",
}


@dataclass(frozen=True)
class Cinema:
    """The films in a database, under labels that nobody else uses."""

    driver: Driver
    token: str

    def text(self, query: str) -> str:
        """A query in this cinema's labels."""
        return query.replace("@", self.token)

    def run(self, query: str, **parameters: object) -> None:
        self.driver.execute_query(self.text(query), parameters)


@contextmanager
def cinema(address: str, settings: Neo4jSettings, films: Films) -> Iterator[Cinema]:
    """The films on a server; everything is removed afterwards."""
    password = settings.password.get_secret_value()
    login = (settings.user, password) if password else None
    with GraphDatabase.driver(
        address, auth=login, database=settings.database, notifications_min_severity="OFF"
    ) as driver:
        made = Cinema(driver, f"_{secrets.token_hex(4)}")
        try:
            _fill(made, films)
            yield made
        finally:
            made.run("MATCH (n:Person@|Studio@|Genre@|Film@) DETACH DELETE n")


def _fill(made: Cinema, films: Films) -> None:
    made.run(
        _FILL,
        people=[list(pair) for pair in films.born.items()],
        studios=[list(pair) for pair in STUDIOS.items()],
        genres=list(GENRES),
        films=[
            [title, year, minutes, films.studio[title], films.genre[title]]
            for title, (year, minutes) in films.films.items()
        ],
    )
    ties: dict[str, list[list[Value]]] = {
        "ACTED_IN": [[*pair, role] for pair, role in films.acted.items()],
        "DIRECTED": [list(pair) for pair in films.directed],
        "REVIEWED": [[*pair, stars] for pair, stars in films.reviewed.items()],
        "FOLLOWS": [list(pair) for pair in films.follows],
    }
    for name, rows in ties.items():
        made.run(f"UNWIND $rows AS row {_TIES[name]}", rows=rows)
