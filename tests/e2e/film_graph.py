"""Questions about a graph of films, and the queries that answer them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

ENDS = {
    "DIRECTED": ("Person", "Film"),
    "ACTED_IN": ("Person", "Film"),
    "REVIEWED": ("Person", "Film"),
    "FOLLOWS": ("Person", "Person"),
    "PRODUCED": ("Studio", "Film"),
    "IN_GENRE": ("Film", "Genre"),
}
"""Labels at the ends of each type of relationship."""
FORMS: tuple[tuple[str, str, list[dict[str, str | int]]], ...] = (
    (
        "How many films are there?",
        "MATCH (f:Film) RETURN count(f)",
        [],
    ),
    (
        "Which films did {person} direct?",
        "MATCH (p:Person {name: $person})-[:DIRECTED]->(f:Film) RETURN f.title",
        [{"person": "Tom Eze"}, {"person": "Otto Brandt"}, {"person": "Vik Abel"}],
    ),
    (
        "Who acted in {film}?",
        "MATCH (p:Person)-[:ACTED_IN]->(f:Film) WHERE f.title = $film RETURN p.name",
        [{"film": "Return to Harbour"}, {"film": "Under the Winter"}, {"film": "The Last Signal"}],
    ),
    (
        "Who directed {film}?",
        "MATCH (f:Film {title: $film})<-[:DIRECTED]-(p:Person) RETURN p.name",
        [{"film": "A Quiet Harbour"}, {"film": "The Last Harbour"}, {"film": "Night at Harbour"}],
    ),
    (
        "In which films did {person} act?",
        "MATCH (p:Person)-[:ACTED_IN]->(f:Film) WHERE toLower(p.name) = "
        "toLower($person) RETURN f.title",
        [{"person": "Sela Falk"}, {"person": "Ines Eze"}, {"person": "Vik Brandt"}],
    ),
    (
        "How many films did {person} act in?",
        "MATCH (p:Person {name: $person})-[:ACTED_IN]->(f:Film) RETURN count(DISTINCT f)",
        [{"person": "Karl Eze"}, {"person": "Karl Brandt"}, {"person": "Otto Falk"}],
    ),
    (
        "Which films came out in {year}?",
        "MATCH (f:Film) WHERE f.year = $year RETURN f.title",
        [{"year": 1981}, {"year": 1969}, {"year": 1976}],
    ),
    (
        "Which films of the genre {genre} came out after {year}?",
        "MATCH (f:Film)-[:IN_GENRE]->(:Genre {name: $genre}) WHERE f.year > $year RETURN f.title",
        [
            {"genre": "drama", "year": 1975},
            {"genre": "comedy", "year": 1975},
            {"genre": "thriller", "year": 1975},
        ],
    ),
    (
        "Which studio produced {film}?",
        "MATCH (s:Studio)-[:PRODUCED]->(f:Film {title: $film}) RETURN s.name",
        [{"film": "The Last Winter"}, {"film": "A Quiet Winter"}, {"film": "Under the Harbour"}],
    ),
    (
        "How many films did {studio} produce?",
        "MATCH (s:Studio {name: $studio})-[:PRODUCED]->(f:Film) RETURN count(f)",
        [{"studio": "Palmera"}, {"studio": "Northlight"}, {"studio": "Redwood"}],
    ),
    (
        "Who acted in a film that {person} directed?",
        "MATCH (d:Person {name: "
        "$person})-[:DIRECTED]->(f:Film)<-[:ACTED_IN]-(a:Person) RETURN DISTINCT "
        "a.name",
        [{"person": "Rui Abel"}, {"person": "Otto Brandt"}, {"person": "Karl Eze"}],
    ),
    (
        "Which actors played together with {person}?",
        "MATCH (p:Person {name: "
        "$person})-[:ACTED_IN]->(f:Film)<-[:ACTED_IN]-(a:Person) RETURN DISTINCT "
        "a.name",
        [{"person": "Vik Falk"}, {"person": "Vik Abel"}, {"person": "Una Abel"}],
    ),
    (
        "What is the longest film of the genre {genre}?",
        "MATCH (f:Film)-[:IN_GENRE]->(g:Genre) WHERE g.name = $genre RETURN f.title "
        "ORDER BY f.minutes DESC LIMIT 1",
        [{"genre": "western"}, {"genre": "drama"}, {"genre": "thriller"}],
    ),
    (
        "How long are the films of {studio} on average?",
        "MATCH (:Studio {name: $studio})-[:PRODUCED]->(f:Film) RETURN round(avg(f.minutes), 2)",
        [{"studio": "Palmera"}, {"studio": "Redwood"}, {"studio": "Vantage"}],
    ),
    (
        "Who follows {person}?",
        "MATCH (a:Person)-[:FOLLOWS]->(:Person {name: $person}) RETURN a.name",
        [{"person": "Karl Dunn"}, {"person": "Ines Dunn"}, {"person": "Vik Abel"}],
    ),
    (
        "Whom does {person} follow?",
        "MATCH (:Person {name: $person})-[:FOLLOWS]->(b:Person) RETURN b.name",
        [{"person": "Ines Dunn"}, {"person": "Mira Brandt"}, {"person": "Una Abel"}],
    ),
    (
        "Who follows somebody who follows {person}?",
        "MATCH (a:Person)-[:FOLLOWS]->(:Person)-[:FOLLOWS]->(:Person {name: "
        "$person}) RETURN DISTINCT a.name",
        [{"person": "Mira Brandt"}, {"person": "Karl Eze"}, {"person": "Vik Abel"}],
    ),
    (
        "Which people directed a film that they acted in?",
        "MATCH (p:Person)-[:DIRECTED]->(f:Film) WHERE EXISTS { "
        "(p)-[:ACTED_IN]->(f) } RETURN DISTINCT p.name",
        [],
    ),
    (
        "Which role did {person} play in {film}?",
        "MATCH (:Person {name: $person})-[r:ACTED_IN]->(:Film {title: $film}) RETURN r.role",
        [
            {"person": "Mira Brandt", "film": "Night at Harbour"},
            {"person": "Otto Falk", "film": "Beyond the Lantern"},
            {"person": "Paula Abel", "film": "Night at Signal"},
        ],
    ),
    (
        "Which films did {person} give at least {stars} stars?",
        "MATCH (:Person {name: $person})-[r:REVIEWED]->(f:Film) WHERE r.stars >= "
        "$stars RETURN f.title",
        [
            {"person": "Ines Eze", "stars": 5},
            {"person": "Tom Brandt", "stars": 3},
            {"person": "Ines Falk", "stars": 2},
        ],
    ),
    (
        "Which films has nobody reviewed?",
        "MATCH (f:Film) WHERE NOT EXISTS { (:Person)-[:REVIEWED]->(f) } RETURN f.title",
        [],
    ),
    (
        "Of which genres did {person} direct films?",
        "MATCH (p:Person {name: "
        "$person})-[:DIRECTED]->(:Film)-[:IN_GENRE]->(g:Genre) RETURN DISTINCT "
        "g.name",
        [{"person": "Mira Dunn"}, {"person": "Sela Falk"}, {"person": "Una Abel"}],
    ),
    (
        "Who was born before {year} and acted in a film of the genre {genre}?",
        "MATCH (p:Person)-[:ACTED_IN]->(:Film)-[:IN_GENRE]->(g:Genre {name: "
        "$genre}) WHERE p.born < $year RETURN DISTINCT p.name",
        [
            {"year": 1950, "genre": "comedy"},
            {"year": 1950, "genre": "thriller"},
            {"year": 1950, "genre": "western"},
        ],
    ),
    (
        "How many films are there of each genre?",
        "MATCH (f:Film)-[:IN_GENRE]->(g:Genre) RETURN g.name, count(f)",
        [],
    ),
    (
        "Which films of studios in {city} did {person} act in?",
        "MATCH (s:Studio {city: "
        "$city})-[:PRODUCED]->(f:Film)<-[:ACTED_IN]-(p:Person) WHERE p.name = "
        "$person RETURN f.title",
        [
            {"city": "Oslo", "person": "Sela Falk"},
            {"city": "Oslo", "person": "Mira Brandt"},
            {"city": "Oslo", "person": "Karl Eze"},
        ],
    ),
    (
        "Whom does {person} reach by following others, in two steps at most?",
        "MATCH (p:Person {name: $person})-[:FOLLOWS*1..2]->(b:Person) WHERE b <> p "
        "RETURN DISTINCT b.name",
        [{"person": "Tom Eze"}, {"person": "Mira Brandt"}, {"person": "Vik Brandt"}],
    ),
    (
        "Which three people acted in most films?",
        "MATCH (p:Person)-[:ACTED_IN]->(f:Film) WITH p, count(f) AS films RETURN "
        "p.name, films ORDER BY films DESC, p.name LIMIT 3",
        [],
    ),
    (
        "Which other films are by a director of {film}?",
        "MATCH (f:Film {title: "
        "$film})<-[:DIRECTED]-(:Person)-[:DIRECTED]->(o:Film) RETURN DISTINCT "
        "o.title",
        [{"film": "Return to Meadow"}, {"film": "Night at Signal"}, {"film": "A Quiet Harbour"}],
    ),
)
"""Questions, their queries, and what is asked with each."""


class Gold(NamedTuple):
    """A question, the query that answers it, and the query's parameters."""

    form: int
    question: str
    query: str
    parameters: Mapping[str, str | int]


GOLDS = [
    Gold(form, question.format(**values), query, values)
    for form, (question, query, given) in enumerate(FORMS)
    for values in given or [{}]
]
