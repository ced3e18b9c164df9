"""Communities, topics and phrases, kept up to date."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph import partition as clustering
from clew.graph.communities import Changed, refresh_communities
from clew.graph.entity_graph import EntityGraph
from clew.graph.partition import MAX_SIZE, changed_entities, partition, weighted
from clew.graph.topics import LONGEST, PER_PASSAGE, Phrases, make_topics, mean_direction
from clew.ports import CommunityChanges, Partition, TopicSet
from clew.stores.communities import Communities
from clew.testing.conformance import make_entry
from tests.unit.community_stores import Library, players, save_band
from tests.unit.graphs import Edge, graph_of, modularity

# --- Communities: what is planted is found, and a change touches what it must and no more.


def planted(groups: int, size: int, *, seed: int = 0, across: float = 0.5) -> list[Edge]:
    """Ties within groups of entities, some eight each, and a few across."""
    rng = np.random.default_rng(seed)
    total = groups * size
    heads = rng.integers(0, total, 4 * total)
    tails = heads // size * size + rng.integers(0, size, len(heads))
    strays = rng.integers(0, total, (int(across * total), 2))
    pairs = {(min(p), max(p)) for p in [*zip(heads, tails, strict=True), *strays] if p[0] != p[1]}
    return [(int(a), int(b), 1.0) for a, b in sorted(pairs)]


def sets_of(found: Partition) -> dict[int, frozenset[int]]:
    members: dict[int, set[int]] = defaultdict(set)
    for community, entity in found.members.tolist():
        members[community].add(entity)
    return {community: frozenset(held) for community, held in members.items()}


def labels_of(found: Partition, level: int = 0) -> np.ndarray:
    """The community of each entity at a level, as far down as it goes."""
    labels = np.zeros(len(found.entity_ids), dtype=np.int64)
    for place in np.argsort(found.levels, kind="stable"):
        if found.levels[place] <= level:
            held = found.members[found.members[:, 0] == found.ids[place], 1]
            labels[np.searchsorted(found.entity_ids, held)] = found.ids[place]
    return labels


def agreement(one: np.ndarray, other: np.ndarray) -> float:
    """Normalised mutual information, 0 to 1."""

    def entropy(labels: np.ndarray) -> float:
        shares = np.unique(labels, return_counts=True)[1] / len(labels)
        return float(-(shares * np.log(shares)).sum())

    joint = entropy(one * (other.max() + 1) + other)
    return 2 * (entropy(one) + entropy(other) - joint) / (entropy(one) + entropy(other))


def assert_hierarchy(found: Partition, graph: EntityGraph) -> None:
    """Level 0 parts the entities that have ties; the parts of a community part it."""
    sets, tied = sets_of(found), graph.entity_ids[np.diff(graph.starts) > 0].tolist()
    assert found.ids.tolist() == sorted(sets)
    assert len(set(sets.values())) == len(sets)
    assert found.entity_ids.tolist() == tied
    assert (found.ids < found.next_id).all()
    assert found.members.tolist() == sorted(map(list, found.members.tolist()))
    parts: dict[int, list[int]] = defaultdict(list)
    level = dict(zip(found.ids.tolist(), found.levels.tolist(), strict=True))
    for community, parent in zip(found.ids.tolist(), found.parents.tolist(), strict=True):
        parts[parent].append(community)
        assert level[community] == (level[parent] + 1 if parent else 0)
    for parent, children in parts.items():
        held = [entity for child in children for entity in sets[child]]
        assert sorted(held) == (sorted(sets[parent]) if parent else tied)
        assert len(children) > 1 or not parent


def test_large_communities_have_parts() -> None:
    """Forty small groups, ten to a region: regions first, then groups."""
    within = planted(40, 12)
    rng = np.random.default_rng(1)
    near = [
        (int(a), int(a // 120 * 120 + b), 0.5)
        for a, b in zip(rng.integers(0, 480, 3000), rng.integers(0, 120, 3000), strict=True)
    ]
    graph = graph_of(480, [*within, *near])
    found = partition(graph)
    assert_hierarchy(found, graph)
    sizes = {community: len(held) for community, held in sets_of(found).items()}
    divided = set(found.parents.tolist()) - {0}
    assert divided
    assert all(sizes[community] > MAX_SIZE for community in divided)
    region, group = (labels_of(found, level) for level in (0, 9))
    assert agreement(region, np.arange(480) // 120) > 0.9
    assert agreement(group, np.arange(480) // 12) > 0.9


def test_what_has_not_changed_changes_nothing() -> None:
    """Nor does a small drift of all strengths."""
    edges = planted(10, 20, across=2)
    graph, drift = graph_of(200, edges), np.random.default_rng(0).uniform(2.7, 3.3, len(edges))
    before, anew = partition(graph), partition(graph)
    for name in (field.name for field in fields(Partition)):
        assert np.array_equal(getattr(before, name), getattr(anew, name))
    drifted = graph_of(200, [(a, b, by) for (a, b, _), by in zip(edges, drift, strict=True)])
    for same in (graph, drifted):
        after = partition(same, before)
        assert changed_entities(same, before).tolist() == []
        for name in ("ids", "levels", "parents", "members", "moved"):
            assert np.array_equal(getattr(before, name), getattr(after, name))


@pytest.mark.parametrize("across", [0.5, 3.0])
def test_piece_by_piece_is_as_good_as_all_at_once(across: float) -> None:
    """Modularity within 0.02 of a full run's; the two agree as far as communities are distinct."""
    edges = planted(30, 20, across=across)
    rng = np.random.default_rng(2)
    found = partition(graph_of(600, edges))
    for _ in range(10):
        drop = set(rng.choice(len(edges), 6, replace=False).tolist())
        edges = [t for i, t in enumerate(edges) if i not in drop]
        edges += [(int(a), int(b), 1.0) for a, b in rng.integers(0, 600, (3, 2)) if a != b]
        graph = graph_of(600, edges)
        found = partition(graph, found)
        assert_hierarchy(found, graph)
    assert found.moved > 0
    full = partition(graph)
    mine, theirs = (modularity(weighted(graph), labels_of(p)) for p in (found, full))
    assert mine == pytest.approx(theirs, abs=0.02)
    assert agreement(labels_of(found), labels_of(full)) > (0.95 if across < 1 else 0.7)


pairs = st.tuples(st.integers(0, 17), st.integers(0, 17)).filter(lambda p: p[0] < p[1])


@settings(max_examples=60)
@given(st.data())
def test_whatever_changes_what_is_untouched_stays(data: st.DataObject) -> None:
    """With communities so small that there are several levels."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clustering, "MAX_SIZE", 3)
        edges = data.draw(st.sets(pairs, min_size=12, max_size=50))
        found = partition(graph_of(18, [(a, b, 1.0) for a, b in edges]))
        for _ in range(3):
            edges = edges ^ data.draw(st.sets(pairs, max_size=3))
            graph = graph_of(18, [(a, b, 1.0) for a, b in edges])
            changed = changed_entities(graph, found)
            before, found = found, partition(graph, found)
            assert_hierarchy(found, graph)
            if found.moved:
                assert_untouched_stay(before, found, set(changed.tolist()))


def assert_untouched_stay(before: Partition, after: Partition, changed: set[int]) -> None:
    was, now = sets_of(before), sets_of(after)
    untouched = {community for community, held in was.items() if not held & changed}
    assert {community: was[community] for community in untouched}.items() <= now.items()
    parents = dict(zip(before.ids.tolist(), before.parents.tolist(), strict=True))
    still = dict(zip(after.ids.tolist(), after.parents.tolist(), strict=True))
    assert all(still[c] == parents[c] for c in untouched if parents[c] in untouched)


# --- Communities and topics follow the store: what a change touches is made anew, and no
# more.


BANDS = 12


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Library]:
    library = Library.open(tmp_path)
    yield library
    assert library.store.check().problems == ()
    library.store.close()


@pytest.fixture
def library(empty: Library) -> Library:
    for number in range(BANDS):
        save_band(empty, number)
    return empty


def rows(library: Library) -> dict[int, tuple[Any, ...]]:
    """Every column of every community, by id."""
    with library.store.database.read() as connection:
        found = connection.execute("SELECT * FROM communities").fetchall()
    return {row[0]: tuple(row[1:]) for row in found}


def community_of(library: Library, number: int) -> int:
    """The community of a band's members."""
    (entity,) = library.store.resolve([players(number)[0].lower()]).values()
    (community,) = {c for e, _, c in library.communities.members().tolist() if e == entity}
    return int(community)


def test_the_first_time_everything_is_made(library: Library) -> None:
    """But for communities too small for a report, which are kept and not shown."""
    library.store.save(make_entry("pair", "Uma met Vito.", names=["Uma", "Vito"]))
    changed = library.update()
    assert (changed.communities, changed.reports) == (BANDS + 1, BANDS)
    assert library.communities.generation() == library.store.generation()
    assert sorted(c.size for c in library.communities.communities()) == [5] * BANDS
    assert library.update() == Changed()


def test_a_new_document_touches_its_community_and_no_other(library: Library) -> None:
    library.update()
    before, own = rows(library), community_of(library, 3)
    text = "Zora plays with {}.".format(" and ".join(players(3)))
    library.store.save(make_entry("new", text, names=["Zora", *players(3)]))
    changed = library.update()
    after = rows(library)
    new = community_of(library, 3)
    assert new not in before
    assert after == {**{id_: row for id_, row in before.items() if id_ != own}, new: after[new]}
    assert (changed.communities, changed.reports) == (1, 1)
    (report,) = library.communities.communities(ids=[new])
    assert report.size == 6
    assert "Zora" in report.entities


def rename(library: Library) -> None:
    (entity,) = library.store.resolve([players(1)[0].lower()]).values()
    library.store.rename(entity, "Zuleika")


def forget(library: Library, source: str = "band 1") -> None:
    library.store.delete([d.id for d in library.store.documents() if d.source == source])


@pytest.mark.parametrize(
    ("change", "made", "shown"),
    [
        (rename, 1, "Zuleika"),
        (lambda library: save_band(library, 1), 1, players(1)[0]),  # its sources are others
        (forget, 0, None),
    ],
    ids=["renamed", "saved again", "deleted"],
)
def test_the_report_of_what_changed_is_made_again_and_no_other(
    library: Library, change: Callable[[Library], None], made: int, shown: str | None
) -> None:
    library.update()
    before, own = rows(library), community_of(library, 1)
    change(library)
    changed = library.update()
    after = rows(library)
    assert (changed.communities, changed.reports) == (0, made)
    assert {id_ for id_ in before if before[id_] != after.get(id_)} == {own}
    for report in library.communities.communities(ids=[own]):
        assert shown in report.entities
        assert len(library.store.chunks(report.sources)) == len(report.sources) > 0
    assert (own in after) == (shown is not None)


def test_work_for_an_older_state_is_done_again_later(library: Library) -> None:
    """Chunks that went between the snapshot and the work are in no report."""
    snapshot, graph = library.snapshot(), library.graph()
    forget(library, "band 0")
    refresh_communities(library.store, library.communities, snapshot, graph, library.vectors)
    assert library.communities.generation() == snapshot.generation < library.store.generation()
    shown = [source for c in library.communities.communities() for source in c.sources]
    assert len(library.store.chunks(shown)) == len(shown)
    library.update()
    assert len(library.communities.communities()) == BANDS - 1


def test_who_comes_second_takes_the_work_of_the_first(library: Library) -> None:
    """The other's write comes between this one's reading and writing."""

    class Late(Communities):
        """A keeper before whose first write another process has written."""

        writes = 0

        def write(self, changes: CommunityChanges) -> bool:
            self.writes += 1
            if self.writes == 1:
                library.update()
            return super().write(changes)

    late = Late(library.store.backend)
    parts = library.snapshot(), library.graph(), library.vectors
    assert refresh_communities(library.store, late, *parts) == Changed()
    assert late.writes == 1
    assert len(rows(library)) == BANDS


# --- Topics: what several documents are on, the passages tied to them, and the themes they
# form.


def topics(library: Library) -> TopicSet:
    return make_topics(library.store, library.vectors, library.snapshot())


def save(library: Library, source: str, *texts: str, names: tuple[str, ...] = ()) -> None:
    library.store.save(make_entry(source, *texts, names=names))


def passages(library: Library, found: TopicSet, name: str) -> list[str]:
    """Texts of the passages that are on a topic."""
    place = found.names.index(name)
    ids = found.chunks[found.chunks[:, 0] == place, 1].tolist()
    return [chunk.text for chunk in library.store.chunks(ids)]


Texts = list[tuple[str, tuple[str, ...]]]
"""Passages of documents of their own, and the names in each."""


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        ([], []),
        ([("A harp maker.", ())], []),
        (
            [
                ("The stained glass in Chartres is old.", ("Chartres",)),
                ("Chartres is a town.", ("Chartres",)),
                ("She makes stained glass.", ()),
                ("Nothing of the kind.", ()),
            ],
            ["Chartres", "stained glass"],
        ),
        (  # no single ordinary word, no file, and no shouted or repeated word
            [
                ("See Number in notes.rst of ZORB QUUX.", ("Number", "notes.rst")),
                ("Number and notes.rst, ZORB QUUX.", ("Number", "notes.rst")),
                ("Zorb zorb.", ()),
                ("Zorb zorb again, in Chartres.", ("Chartres",)),
                ("In Chartres.", ("Chartres",)),
            ],
            ["Chartres"],
        ),
        (  # what every passage of a large store names
            [
                (f"{name} number {i}.", ("Ottilie", "Kunigunde"))
                for i, name in enumerate(["Ottilie"] * 12 + ["Kunigunde"] * 18)
            ],
            [],
        ),
    ],
)
def test_topics_are_the_names_and_phrases_of_two_documents(
    empty: Library, texts: Texts, found: list[str]
) -> None:
    for number, (text, names) in enumerate(texts):
        save(empty, f"{number}", text, names=names)
    made = topics(empty)
    assert sorted(made.names) == found
    for place, name in enumerate(made.names):
        on_it = [text for text, _ in texts if name in text]
        assert passages(empty, made, name) == on_it
        assert made.documents[place] == len(on_it)
    assert len(made.vectors) == len(found)


def test_a_long_document_has_topics_of_its_own(empty: Library) -> None:
    """Three of its passages, for neighbouring ones may overlap."""
    turbines = ["Gas turbines run.", "A gas turbine.", "Every gas turbine.", "A steam engine."]
    save(empty, "a", *turbines)
    save(empty, "b", "The pipe organ.", "A pipe organ.", "Nothing.")
    found = topics(empty)
    assert (found.names, found.documents.tolist()) == (("gas turbine",), [1])


def test_a_name_is_a_topic_once_and_a_date_or_a_bare_title_is_none(empty: Library) -> None:
    for number in range(3):
        empty.store.save(
            make_entry(
                f"{number}",
                f"New York City in 1923, for the {number}th time.",
                names={"New York City": "place", "1923": "date"},
                about=[("Minutes", "work")],
            )
        )
    found = topics(empty)
    assert (found.names, found.keys) == (("New York City",), ("name: new york city",))


def test_a_passage_is_on_few_topics_the_rarest_first(empty: Library) -> None:
    pairs = ["harp maker", "lyre player", "tuba lesson", "oboe reed", "flute pad", "drum skin"]
    text = ". ".join(pairs)
    for number in range(2):
        save(empty, f"all {number}", text)
    for number in range(8):
        save(empty, f"some {number}", "A harp maker.")
    found = topics(empty)
    counts = Counter(found.chunks[:, 1].tolist())
    assert max(counts.values()) == PER_PASSAGE == 5
    assert passages(empty, found, "harp maker") == ["A harp maker."] * 8
    assert passages(empty, found, "drum skin") == [text] * 2


def test_topics_that_go_together_are_themes(empty: Library) -> None:
    """Each with the direction of what is on it."""
    for number in range(4):
        save(empty, f"music {number}", "A harp maker, a lyre player.")
        save(empty, f"craft {number}", "An oil paint, a pine frame.")
    found = topics(empty)
    assert sorted(found.theme_titles) == ["harp maker and lyre player", "oil paint and pine frame"]
    for name, theme in zip(found.names, found.themes.tolist(), strict=True):
        assert name in found.theme_titles[theme]
    for place, vector in enumerate(found.vectors):
        on_it = empty.vectors.vectors(found.chunks[found.chunks[:, 0] == place, 1])
        assert np.array_equal(vector, mean_direction(on_it))
    for theme, vector in enumerate(found.theme_vectors):
        assert np.array_equal(vector, mean_direction(found.vectors[found.themes == theme]))


# --- Key phrases: counted as plain Python counts them.


SENTENCES = st.lists(
    st.lists(st.sampled_from(["harp", "lyre", "tuba", "the", ","]), max_size=9).map(" ".join),
    max_size=6,
)


def counted(texts: list[str]) -> set[tuple[str, int, int]]:
    """Key, passage, and how often it stands there."""
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for place, text in enumerate(texts):
        words = text.split()
        for length in range(2, LONGEST + 1):
            for start in range(len(words) - length + 1):
                run = words[start : start + length]
                if not {"the", ","} & set(run):
                    counts[" ".join(run)][place] += 1
    return {
        (key, place, count)
        for key, held in counts.items()
        if len(held) >= 2
        for place, count in held.items()
    }


@given(SENTENCES)
def test_phrases_are_those_that_counting_finds(texts: list[str]) -> None:
    phrases = Phrases(texts)
    occurrences = [tuple(row) for row in phrases.occurrences.tolist()]
    assert {(phrases.key(phrase), *rest) for phrase, *rest in occurrences} == counted(texts)
    assert occurrences == sorted(set(occurrences))
    lengths = [len(phrases.key(i).split()) for i in range(len(phrases.lengths))]
    assert phrases.lengths.tolist() == lengths
    assert ((phrases.independence >= 0) & (phrases.independence <= 1)).all()


def named(phrases: Phrases, values: np.ndarray) -> dict[str, Any]:
    """What is said of each phrase, by its name."""
    return {phrases.name(number): value for number, value in enumerate(values.tolist())}


def test_words_of_one_stem_make_one_phrase_named_as_most_word_it() -> None:
    phrases = Phrases(["A neural network.", "Neural networks learn.", "Two neural networks."])
    assert named(phrases, phrases.lengths) == {"neural network": 2}
    assert phrases.occurrences.tolist() == [[0, 0, 1], [0, 1, 1], [0, 2, 1]]


@pytest.mark.parametrize(
    "text",
    [
        "the harp of lyres",  # a stop word between
        "harp, lyre",
        "harp. Lyre",
        "harp 2023",
        "film directed",  # half of a phrase
        "really harp",
        "myself harp",
        "竖琴的弦 竖琴的弦",  # written without spaces
    ],
)
def test_what_is_no_phrase_is_none(text: str) -> None:
    assert len(Phrases([text, text]).lengths) == 0


def test_what_stands_only_inside_a_longer_phrase_counts_nothing() -> None:
    """C-value by hand: `gas turbine` twice alone and twice in one of two longer phrases."""
    phrases = Phrases(["gas turbine engine", "gas turbine blade", "gas turbine"] * 2)
    assert named(phrases, phrases.independence) == pytest.approx(
        {
            "gas turbine": 1 - 4 / (2 * 6),
            "gas turbine engine": 1,
            "gas turbine blade": 1,
            "turbine engine": 0,  # 1 - 2 / (1 · 2)
            "turbine blade": 0,
        }
    )


def test_parts_of_longer_phrases_and_copies_are_not_varied() -> None:
    grown = ["A rare harp maker sang.", "No rare harp maker wept.", "The rare harp maker slept."]
    copied = ["He met the oil painter there."] * 3
    free = ["The wood frame broke.", "A wood frame held."]
    phrases = Phrases([*grown, *copied, *free])
    expected = {"rare harp maker": True, "wood frame": True, "harp maker": False}
    assert named(phrases, phrases.is_varied()).items() >= {**expected, "oil painter": False}.items()


NOUNS_AND_VERBS = [
    "The list of packages is short. A package has a version.",
    "To install the packages, they install a tool. You can install it.",
    "The tool installs the packages. It installs a version.",
]


@pytest.mark.parametrize(
    ("text", "is_nominal"),
    [
        ("See package list.", True),
        ("install source tree", False),  # what is done
        ("They build source tree again", False),
        ("The build tree again", True),
        ("of the install tree", True),  # told otherwise where it stands
        ("package installs files", False),  # a whole sentence
        ("package list", True),
    ],
)
def test_what_is_done_is_no_phrase(text: str, is_nominal: bool) -> None:
    texts = [*NOUNS_AND_VERBS, text, text]
    phrases = Phrases(texts)
    held = phrases.occurrences[phrases.occurrences[:, 1] == len(texts) - 1, 0]
    longest = held[np.argmax(phrases.lengths[held])]
    assert bool(phrases.is_nominal(np.ones(len(texts), dtype=bool))[longest]) == is_nominal
    assert phrases.is_nominal(np.zeros(len(texts), dtype=bool))[longest], "no English is read"


def test_words_that_meet_by_chance_are_no_phrase() -> None:
    """`gas turbine` always stands together; `file name` as often as the words of the text meet."""
    texts = ["gas turbine here"] * 3
    texts += ["file name", "file name", *["file of a name, file or file, name"] * 40]
    phrases = Phrases(texts)
    assert named(phrases, phrases.is_together()) == {"gas turbine": True, "file name": False}
