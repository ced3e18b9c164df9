"""Which names are one entity, and which are not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew.indexing.linking import Linker, similarity
from clew.search.question import candidate_keys
from clew.settings import LinkSettings
from clew.stores.sqlite.store import SqliteStore
from clew.testing.conformance import EMBEDDER, make_entry
from clew.text import (
    block_of,
    entity_key,
    lookup_keys,
)
from clew.types import (
    Alias,
    AliasEvidence,
    ChunkExtraction,
    Document,
    Extraction,
    LinkCandidates,
    Mention,
)
from tests.unit.test_extract import extract, names

# --- link


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

    def names_by_key(self, keys: Sequence[str]) -> dict[str, tuple[str, int]]:
        return {}


def linker(aliases: Sequence[Alias], rules: Mapping[str, str] | None = None) -> Linker:
    return Linker(Names(aliases, rules), SETTINGS)  # type: ignore[arg-type]


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


STATED = AliasEvidence(
    alias="Mohammad Ali", name="Cassius Clay", method="acronym", score=0.9, evidence="s"
)


@pytest.mark.parametrize(
    ("known", "found", "links"),
    [
        # Names of one document are tied to the first.
        ([], extraction("Muhammad Ali", "Mohammad Ali", "Muhamad Ali"),
         [("Mohammad Ali", "Muhammad Ali"), ("Muhamad Ali", "Muhammad Ali")]),
        # Stated aliases come first and are not compared.
        (stored("Muhammad Ali"), extraction("Mohammad Ali", aliases=[STATED]),
         [("Mohammad Ali", "Cassius Clay")]),
        # What is only alike is no anchor, and code is never linked by likeness.
        (stored("Mohammad Ali", method="fuzzy"), extraction("Muhammad Ali"), []),
        (stored("http.parse_responses"), extraction("http.parse_response"), []),
    ],
)  # fmt: skip
def test_what_is_tied(known: list[Alias], found: Extraction, links: list[tuple[str, str]]) -> None:
    assert pairs(linker(known).links(found)) == links


def test_names_ruled_by_hand_are_left_alone() -> None:
    ruled = linker(stored("Muhammad Ali"), {"mohammad ali": "mohammad ali"})
    assert ruled.links(extraction("Mohammad Ali")) == ()


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
        assert links == linker(store.aliases(), store.link_rules()).links(found)
        store.save(make_entry(f"{number}", ". ".join(named), names=named, links=links))


@given(NAMES, NAMES)
def test_similarity_is_symmetric_and_a_share(one: str, other: str) -> None:
    a, b = entity_key(one), entity_key(other)
    assert similarity(a, b) == pytest.approx(similarity(b, a))
    assert 0 <= similarity(a, b) <= 1
    assert similarity(a, a) == 1
    if similarity(a, b) >= SETTINGS.fuzzy_threshold and a != b:
        assert block_of(a) == block_of(b)


# --- Which names mean one thing: acronyms, companies, initials.


def test_an_acronym_of_two_letters_holds_in_its_document_only() -> None:
    text = "He was made Gracious Umpire Influencing Decisions Officer (GUIDO) then. GUIDO left."
    assert [a.alias for a in extract(text).aliases] == ["GUIDO"]
    short = "We use Data Engineering (DE) here. DE is new."
    assert (extract(short).aliases, names(short)[-1]) == ((), "Data Engineering")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("acme corp", "acme corporation", True),
        ("acme ltd", "acme limited", True),
        ("acme corp", "acme limited", False),
        ("corp", "corporation", False),
    ],
)
def test_the_form_of_a_company_may_be_written_short(one: str, other: str, same: bool) -> None:
    assert (block_of(one) == block_of(other) and similarity(one, other, 0.9) > 0.9) == same


HEALTH = "The World Harp Orchestra (WHO) met. The WHO has rules."
OPTICS = "They sell Wide Hybrid Optics (WHO) there. The WHO is cheap."
ALONE = "The WHO is far away."


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 0, 1)])
@pytest.mark.parametrize("at_once", [True, False])
def test_an_acronym_of_two_documents_that_differ_holds_in_each_of_them_alone(
    engine: clew.Clew, order: tuple[int, ...], at_once: bool
) -> None:
    texts = (HEALTH, OPTICS, ALONE)
    documents = [Document(source=str(i), text=texts[i]) for i in order]
    for batch in [documents] if at_once else [[one] for one in documents]:
        engine.add_documents(batch)
    engine.add(HEALTH, source="3")  # it stays ambiguous
    assert engine.entities.get("WHO").name == "WHO"
    for name in ("World Harp Orchestra", "Wide Hybrid Optics"):
        assert [alias.name for alias in engine.entities.aliases(name)] == [name]


def test_an_acronym_that_two_documents_agree_on_holds_in_others(engine: clew.Clew) -> None:
    texts = (HEALTH, HEALTH.replace("Orchestra", "Orchestras"), ALONE)
    engine.add_documents(Document(source=str(i), text=text) for i, text in enumerate(texts))
    assert engine.entities.get("WHO").name == "World Harp Orchestra"


# --- Names that a sign tells apart are names of different things; typography makes no
# difference.


SIGNS = ("+", "++", "#", "-", "%", "*", "!", "?", "°", "′", "″", "$", "€", "±", "§", "²", "₂", "🎉")
PAIRS = (
    *[("C", "C++"), ("C++", "C#"), ("F", "F#"), ("A+", "A−"), ("A", "A-"), (".NET", "Net")],
    *[("−5", "5"), ("−5 °C", "5 °C"), ("5 °C", "5 C"), ("5%", "5"), ("$5", "€5"), ("5′", "5″")],
    *[("Yahoo!", "Yahoo"), ("Who?", "Who"), ("A*", "A"), ("x′", "x"), ("x'", "x"), ("x²", "x2")],
    *[("x₂", "x"), ("10²", "102"), ("½", "1/2"), ("1.5", "15"), ("3.11", "3 11"), ("1/2", "1 2")],
    *[("R&D", "RD"), ("AT&T", "AT T"), ("Na+", "Na"), ("Cl-", "Cl"), ("C--", "C-"), ("α", "a")],
    *[("Disney+", "Disney"), ("§5", "5"), ("#5", "5"), ("±5", "5"), ("OS/2", "OS 2")],
    *[("Party 🎉", "Party"), ("Party 🎉", "Party 🎈"), ("@home", "home"), (".env", "env")],
    *[("-v", "--v"), ("バス", "ハス"), ("की", "का"), ("C♯", "C♭"), ("x=y", "x y"), ("a>b", "a<b")],
)
SAME = (
    *[("C++", "c++"), ("“C#”", "C#"), ("(C#)", "C#"), ("C ++", "C++"), ("Ｃ＋＋", "C++")],
    *[("Jean-Luc", "Jean Luc"), ("Jean‑Luc", "Jean–Luc"), ("O’Neil", "O'Neil"), ("A−", "A-")],
    *[("Café", "CAFE"), ("Bergen.", "Bergen"), ("ﬁle", "file"), ("Acme®", "Acme"), ("5 %", "5%")],
    *[("5 °C", "5°C"), ("Na⁺", "Na+"), ("R & D", "R&D"), ("J.R.R. Tolkien", "J. R. R. Tolkien")],
    *[("foo_bar", "foo-bar"), ("**Vell**", "Vell"), ("Ber\u00adgen", "Bergen"), ("Ⅳ", "IV")],
)

words = st.text("abdegiklmnoprstuvz", min_size=1, max_size=8)
apart_names = st.lists(words, min_size=1, max_size=3).map(" ".join).map(str.title)
quoted: Callable[[str], str] = "“{}”".format
TYPOGRAPHY: tuple[Callable[[str], str], ...] = (
    str.upper,
    str.lower,
    quoted,
    '"{}"'.format,
    "({})".format,
    "{}.".format,
    "{},".format,
    "  {} ".format,
    lambda name: name.replace(" ", "\u00a0"),
    lambda name: name.replace(" ", "\n"),
    lambda name: re.sub(r"(?<=\w) (?=\w)", "‑", name),
    lambda name: "".join(chr(ord(c) + 0xFEE0) if "a" <= c.lower() <= "z" else c for c in name),
)


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_a_sign_is_part_of_the_key(one: str, other: str) -> None:
    assert entity_key(one) != entity_key(other)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_typography_is_none(one: str, other: str) -> None:
    assert entity_key(one) == entity_key(other) != ""


@given(name=apart_names, one=st.sampled_from(("", *SIGNS)), other=st.sampled_from(("", *SIGNS)))
def test_any_names_that_differ_by_a_sign_differ(name: str, one: str, other: str) -> None:
    for form in ("{0}{1}", "{1}{0}") if "-" not in (one, other) else ("{0}{1}",):
        same = entity_key(form.format(name, one)) == entity_key(form.format(name, other))
        assert same == (one == other)


@given(
    name=apart_names,
    sign=st.sampled_from(("", "+", "#", "°", "$")),
    steps=st.lists(st.sampled_from(TYPOGRAPHY), max_size=4),
)
def test_any_typography_makes_no_difference(
    name: str, sign: str, steps: list[Callable[[str], str]]
) -> None:
    written = name + sign
    for step in steps:
        written = step(written)
    assert entity_key(written) == entity_key(name + sign)


@given(st.text(max_size=30))
def test_a_key_is_its_own_key(name: str) -> None:
    key = entity_key(name)
    assert entity_key(key) in (key, key.removeprefix("the "))


@given(
    name=apart_names.filter(lambda name: len(name) > 3), sign=st.sampled_from(("+", "++", "#", "!"))
)
def test_a_question_asks_for_the_name_with_its_sign(name: str, sign: str) -> None:
    keys = candidate_keys(f"Where is Qxv{name}{sign}?")
    assert entity_key(f"Qxv{name}{sign}") in keys
    assert (entity_key(f"Qxv{name}") in keys) == (sign == "!")


# --- Terms that a store knows are found in what is indexed later, and in questions.


GLOSSARY = Document(
    source="glossary.md",
    title="Glossary",
    text=(
        "# Tide windows\n\nA tide window is short; **quay crane** work waits for it. Each tide"
        " window has quay cranes. It is run by `portctl` and portctl-server. Portctl is old, says"
        " /etc/portctl.conf. The Rose Hill is green."
    ),
    media_type="text/markdown",
)


def named_later(engine: clew.Clew, later: Document) -> set[str]:
    """The names that a text is found to have, once the store knows the glossary."""
    for document in (GLOSSARY, later):
        engine.add_documents([document])
    ids = [chunk.id for chunk in engine.documents.chunks(later.source)]
    rows = engine.store.mention_rows()
    return set(engine.store.entity_names(rows[np.isin(rows[:, 0], ids), 2].tolist()).values())


def test_a_later_text_names_them_in_any_case_and_number(engine: clew.Clew) -> None:
    text = "They missed two TIDE-WINDOWS, and one quay crane broke portctl."

    found = named_later(engine, Document(source="later.txt", text=text))

    assert {name.casefold() for name in found} == {"tide windows", "quay crane", "portctl"}


@pytest.mark.parametrize(
    "later",
    [
        Document(source="later.py", text="portctl = 3\n", media_type="text/x-python"),
        Document(source="later.txt", text="See files/portctl/tide_window for it."),
        Document(source="later.md", text="Do so:\n\n```\nportctl now\n```\n"),
    ],
)
def test_code_and_paths_do_not_name_them(engine: clew.Clew, later: Document) -> None:
    assert not {"portctl", "Tide windows"} & named_later(engine, later)
