from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.indexing.linking import Linker, similarity
from clew.settings import LinkSettings
from clew.stores.sqlite.store import SqliteStore
from clew.testing.entries import EMBEDDER, make_entry
from clew.text import block_of, entity_key, lookup_keys
from clew.types import Alias, AliasEvidence, ChunkExtraction, Extraction, LinkCandidates, Mention
from tests.whole_linking import whole_links

SETTINGS = LinkSettings()


def extraction(*names: str, aliases: Sequence[AliasEvidence] = ()) -> Extraction:
    mentions = tuple(Mention(name=name, sentence=0, start=0, end=1) for name in names)
    chunk = ChunkExtraction(sentences=((0, 1),), mentions=mentions)
    return Extraction(chunks=(chunk,), aliases=tuple(aliases))


def stored(*names: str, method: str = "exact") -> list[Alias]:
    return [
        Alias(id=i, key=entity_key(n), name=n, entity_id=i, method=method, score=1.0, evidence="")  # type: ignore[arg-type]
        for i, n in enumerate(names, 1)
    ]


class Names:
    """What a linker asks of a store, from a list of aliases."""

    def __init__(self, aliases: Sequence[Alias], rules: Mapping[str, str] | None = None) -> None:
        self._aliases, self._rules = aliases, rules or {}

    def link_candidates(self, keys: Sequence[str], blocks: Sequence[str]) -> LinkCandidates:
        near = [(lookup_keys(a.name)["block"], a) for a in self._aliases if a.method != "fuzzy"]
        return LinkCandidates(
            known={alias.key for alias in self._aliases if alias.key in keys},
            ruled={key for rule in self._rules.items() if set(rule) & set(keys) for key in rule},
            names={b: [(a.key, a.name) for of, a in near if of == b] for b in blocks},
        )


def linker(
    aliases: Sequence[Alias] = (),
    rules: Mapping[str, str] | None = None,
    given: LinkSettings = SETTINGS,
) -> Linker:
    return Linker(Names(aliases, rules), given)  # type: ignore[arg-type]


def pairs(links: Iterable[AliasEvidence]) -> list[tuple[str, str]]:
    return [(link.alias, link.name) for link in links]


@pytest.mark.parametrize(
    ("new", "known"),
    [
        ("Mohammad Ali", "Muhammad Ali"),
        ("Tchaikovski", "Tchaikovsky"),
        ("Organization", "Organisation"),
        ("Dostoyevsky", "Dostoevsky"),
        ("Barak Obama", "Barack Obama"),
        ("Cristopher Nolan", "Christopher Nolan"),
        ("Schwarzeneger", "Schwarzenegger"),
        ("Katherine Parr", "Catherine Parr"),
        ("Москвы", "Москва"),
        ("Ηρακλείου", "Ηράκλειο"),
    ],
)
def test_spellings_of_one_name_are_tied(new: str, known: str) -> None:
    (link,) = linker(stored(known)).links(extraction(new))
    assert (link.alias, link.name, link.method) == (new, known, "fuzzy")
    assert SETTINGS.fuzzy_threshold <= link.score <= 1
    assert known in link.evidence


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Austria", "Australia"),
        ("Iran", "Iraq"),
        ("John Smith", "Jane Smith"),
        ("World War I", "World War II"),
        ("1990", "1991"),
        ("Robert Browning", "Robert Brown"),
        ("Columbia", "Colombia"),
        ("Daniel Brown", "Daniela Brown"),
        ("Francis Ford", "Frances Ford"),
        ("Bulgaria", "Bulgarian"),
        ("George H. Bush", "George W. Bush"),
        ("Apollo 11", "Apollo 12"),
        ("Slovakia", "Slovenia"),
        ("Johnson", "Johnston"),
        ("Henry VII", "Henry VIII"),
        ("XXIII Olympiad", "XXXIII Olympiad"),
        ("Minister", "Minster"),
        ("Castile", "Castle"),
        ("Hungary", "Hungry"),
        ("Ali", "Aly"),
        ("北京大学", "北京大學"),
        ("Москва", "Moskva"),
        ("Apollo Program", "Apollo"),
    ],
)
def test_names_of_different_things_stay_apart(one: str, other: str) -> None:
    assert linker(stored(one)).links(extraction(other)) == ()
    assert linker(stored(other)).links(extraction(one)) == ()


def test_known_keys_are_left_alone() -> None:
    known = linker(stored("Muhammad Ali", "Mohammad Ali"))
    assert known.links(extraction("Mohammad Ali")) == ()


def test_names_of_one_document_are_tied_to_the_first() -> None:
    links = linker().links(extraction("Muhammad Ali", "Mohammad Ali", "Muhamad Ali"))
    assert pairs(links) == [("Mohammad Ali", "Muhammad Ali"), ("Muhamad Ali", "Muhammad Ali")]


def test_stated_aliases_come_first_and_are_not_compared() -> None:
    stated = AliasEvidence(
        alias="Mohammad Ali", name="Cassius Clay", method="acronym", score=0.9, evidence="s"
    )
    known = linker(stored("Muhammad Ali"))
    assert known.links(extraction("Mohammad Ali", aliases=[stated])) == (stated,)


def test_alias_of_itself_is_dropped() -> None:
    same = AliasEvidence(alias="The WHO", name="WHO", method="acronym", score=0.9, evidence="s")
    assert linker().links(extraction("WHO", aliases=[same])) == ()


def test_names_ruled_by_hand_are_left_alone() -> None:
    ruled = linker(stored("Muhammad Ali"), {"mohammad ali": "mohammad ali"})
    assert ruled.links(extraction("Mohammad Ali")) == ()


def test_fuzzy_can_be_switched_off() -> None:
    off = linker(stored("Muhammad Ali"), given=LinkSettings(fuzzy=False))
    assert off.links(extraction("Mohammad Ali")) == ()


def test_threshold_decides() -> None:
    known = stored("Muhammad Ali")
    for threshold, expected in ((0.9, 1), (0.99, 0)):
        with_threshold = linker(known, given=LinkSettings(fuzzy_threshold=threshold))
        assert len(with_threshold.links(extraction("Mohammad Ali"))) == expected


def test_fuzzy_aliases_are_no_anchors() -> None:
    known = linker(stored("Mohammad Ali", method="fuzzy"))
    assert known.links(extraction("Muhammad Ali")) == ()


def test_most_similar_name_wins_whatever_the_order() -> None:
    names = ["Mohammad Aliyev", "Muhammad Aliyev"]
    for known in (names, names[::-1]):
        (link,) = linker(stored(*known)).links(extraction("Mohammed Aliyev"))
        assert link.name == "Mohammad Aliyev"


NAMES = st.sampled_from(
    "Muhammad Ali|Mohammad Ali|Mohamad Ali|Tchaikovsky|Tchaikovski|Chaikovsky|Organisation"
    "|Organization|Dostoevsky|Dostoyevsky|Dostoevski|Rome|1990|Apollo 11|Москва|Москвы".split("|")
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path_factory.mktemp("store"), embedder=EMBEDDER)) as store:
        yield store


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(NAMES, min_size=1, max_size=4), max_size=6))
def test_looking_names_up_links_the_same_as_reading_all(
    store: SqliteStore, documents: list[list[str]]
) -> None:
    store.delete([info.id for info in store.documents()])
    looking = Linker(store, SETTINGS)
    for number, named in enumerate(documents):
        found = extraction(*named)
        links = looking.links(found)
        assert pairs(links) == whole_links(store, found, SETTINGS.fuzzy_threshold)
        store.save(make_entry(f"{number}", ". ".join(named), names=named, links=links))


@given(NAMES, NAMES)
def test_similarity_is_symmetric_and_a_share(one: str, other: str) -> None:
    a, b = entity_key(one), entity_key(other)
    assert similarity(a, b) == pytest.approx(similarity(b, a))
    assert 0 <= similarity(a, b) <= 1
    assert similarity(a, a) == 1
    if similarity(a, b) >= SETTINGS.fuzzy_threshold and a != b:
        assert block_of(a) == block_of(b)


def test_code_is_never_linked_by_likeness() -> None:
    known = [
        Alias(
            id=1,
            key="http parse responses",
            name="http.parse_responses",
            entity_id=1,
            method="exact",
            score=1.0,
            evidence="",
        )
    ]
    for entity_type in ("code", "name"):
        mention = Mention(
            name="http.parse_response", entity_type=entity_type, sentence=0, start=0, end=9
        )
        found = Extraction(chunks=(ChunkExtraction(mentions=(mention,)),))
        assert linker(known).links(found) == ()
