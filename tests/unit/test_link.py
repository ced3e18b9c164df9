from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.indexing.linking.linker import Linker
from clew.indexing.linking.string_similarity import block_of, similarity
from clew.settings import LinkSettings
from clew.text import entity_key
from clew.types import Alias, AliasEvidence, ChunkExtraction, Extraction, Mention

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
    (link,) = Linker(stored(known), {}, SETTINGS).links(extraction(new))
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
    assert Linker(stored(one), {}, SETTINGS).links(extraction(other)) == ()
    assert Linker(stored(other), {}, SETTINGS).links(extraction(one)) == ()


def test_known_keys_are_left_alone() -> None:
    linker = Linker(stored("Muhammad Ali", "Mohammad Ali"), {}, SETTINGS)
    assert linker.links(extraction("Mohammad Ali")) == ()


def test_names_of_one_document_are_tied_to_the_first() -> None:
    links = Linker([], {}, SETTINGS).links(
        extraction("Muhammad Ali", "Mohammad Ali", "Muhamad Ali")
    )
    assert pairs(links) == [("Mohammad Ali", "Muhammad Ali"), ("Muhamad Ali", "Muhammad Ali")]


def test_stated_aliases_come_first_and_are_not_compared() -> None:
    stated = AliasEvidence(
        alias="Mohammad Ali", name="Cassius Clay", method="acronym", score=0.9, evidence="s"
    )
    linker = Linker(stored("Muhammad Ali"), {}, SETTINGS)
    assert linker.links(extraction("Mohammad Ali", aliases=[stated])) == (stated,)


def test_alias_of_itself_is_dropped() -> None:
    same = AliasEvidence(alias="The WHO", name="WHO", method="acronym", score=0.9, evidence="s")
    assert Linker([], {}, SETTINGS).links(extraction("WHO", aliases=[same])) == ()


def test_names_ruled_by_hand_are_left_alone() -> None:
    linker = Linker(stored("Muhammad Ali"), {"mohammad ali": "mohammad ali"}, SETTINGS)
    assert linker.links(extraction("Mohammad Ali")) == ()


def test_fuzzy_can_be_switched_off() -> None:
    linker = Linker(stored("Muhammad Ali"), {}, LinkSettings(fuzzy=False))
    assert linker.links(extraction("Mohammad Ali")) == ()


def test_threshold_decides() -> None:
    known = stored("Muhammad Ali")
    assert Linker(known, {}, LinkSettings(fuzzy_threshold=0.9)).links(extraction("Mohammad Ali"))
    assert not Linker(known, {}, LinkSettings(fuzzy_threshold=0.99)).links(
        extraction("Mohammad Ali")
    )


def test_fuzzy_aliases_are_no_anchors() -> None:
    linker = Linker(stored("Mohammad Ali", method="fuzzy"), {}, SETTINGS)
    assert linker.links(extraction("Muhammad Ali")) == ()


def test_most_similar_name_wins_whatever_the_order() -> None:
    names = ["Mohammad Aliyev", "Muhammad Aliyev"]
    for known in (names, names[::-1]):
        (link,) = Linker(stored(*known), {}, SETTINGS).links(extraction("Mohammed Aliyev"))
        assert link.name == "Mohammad Aliyev"


NAMES = st.sampled_from(
    "Muhammad Ali|Mohammad Ali|Mohamad Ali|Tchaikovsky|Tchaikovski|Chaikovsky|Organisation"
    "|Organization|Dostoevsky|Dostoyevsky|Dostoevski|Rome|1990|Apollo 11|Москва|Москвы".split("|")
)


@given(st.lists(st.lists(NAMES, min_size=1, max_size=4), max_size=6))
def test_linker_that_went_on_equals_one_built_anew(documents: list[list[str]]) -> None:
    ids, rows = count(1), list[Alias]()
    going = Linker([], {}, SETTINGS)
    for names in documents:
        anew = Linker(rows, {}, SETTINGS)
        links = going.links(extraction(*names))
        assert anew.links(extraction(*names)) == links
        new = _saved(names, links, {row.key for row in rows}, ids)
        rows += new
        going.add(new)


def _saved(
    names: list[str], links: Sequence[AliasEvidence], known: set[str], ids: Iterable[int]
) -> list[Alias]:
    """The aliases that a store would add for a document."""
    tied = {entity_key(link.alias) for link in links}
    fresh = {entity_key(n): n for n in reversed(names) if entity_key(n) not in known}
    return [
        Alias(
            id=i,
            key=key,
            name=name,
            entity_id=i,
            method="fuzzy" if key in tied else "exact",
            score=1.0,
            evidence="",
        )
        for i, (key, name) in zip(ids, fresh.items(), strict=False)
    ]


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
    linker = Linker(known, {}, LinkSettings())
    for entity_type in ("code", "name"):
        mention = Mention(
            name="http.parse_response", entity_type=entity_type, sentence=0, start=0, end=9
        )
        found = Extraction(chunks=(ChunkExtraction(mentions=(mention,)),))
        assert linker.links(found) == ()
