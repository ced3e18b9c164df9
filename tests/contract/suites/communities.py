"""What must keep communities and topics."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import fields, replace

import numpy as np
import pytest

from clew.errors import StoreError
from clew.ports import CommunityChanges, CommunityReport, Partition, ReportBasis, TopicSet
from clew.stores.communities import Communities
from clew.stores.store import Store
from clew.testing.conformance import DIMENSION, StoreSuite, make_vector
from clew.types import Community

Row = tuple[int, int, int, set[int]]
"""Id, level, parent (0 for none), members."""

# Two of level 0, the first in two parts; the last one is too small for a report.
ROWS: tuple[Row, ...] = (
    (3, 0, 0, {11, 12, 13, 14, 15, 16}),
    (4, 1, 3, {11, 13, 15}),
    (5, 1, 3, {12, 14, 16}),
    (7, 0, 0, {21, 22, 23, 24, 25, 26, 27}),
    (9, 0, 0, {31, 32}),
)
REPORTED = (3, 4, 5, 7)


def make_partition(rows: Sequence[Row] = ROWS, *, next_id: int = 10) -> Partition:
    """A partition of those rows, which are in order of id."""
    entities = sorted(set().union(*(held for *_, held in rows)))
    return Partition(
        ids=np.array([id_ for id_, *_ in rows], dtype=np.int64),
        levels=np.array([level for _, level, _, _ in rows], dtype=np.int64),
        parents=np.array([parent for _, _, parent, _ in rows], dtype=np.int64),
        members=np.array(
            [(id_, e) for id_, *_, held in rows for e in sorted(held)], dtype=np.int64
        ).reshape(-1, 2),
        entity_ids=np.array(entities, dtype=np.int64),
        neighbourhoods=np.array([(-1) ** e * (e << 50) for e in entities], dtype=np.int64),
        strengths=np.array([entity / 3 for entity in entities], dtype=np.float32),
        moved=2,
        next_id=next_id,
    )


def make_report(community_id: int, word: str = "Report") -> CommunityReport:
    """A report that names its community's number."""
    return CommunityReport(
        community_id=community_id,
        title=f"{word} {community_id}",
        summary=f"Summary of “{community_id}”.",
        basis=ReportBasis(
            entity_ids=(community_id, 1), entities=(f"Ä{community_id}", "B"), sources=(8, 5)
        ),
        vector=make_vector(f"{word} {community_id}"),
    )


def make_topics(keys: Sequence[str] = ("harp", "lyre", "tuba")) -> TopicSet:
    """Topics of those keys, the last one a theme of its own; the n-th has n + 1 passages."""
    count = len(keys)
    return TopicSet(
        keys=tuple(keys),
        names=tuple(key.title() for key in keys),
        vectors=np.array([make_vector(key) for key in keys], np.float32).reshape(-1, DIMENSION),
        themes=np.array([min(n // 2, 1) for n in range(count)], dtype=np.int64),
        documents=np.array([2 + n % 2 for n in range(count)], dtype=np.int64),
        chunks=np.array([(n, 100 - n + m) for n in range(count) for m in range(n + 1)], np.int64),
        theme_titles=("Strings", "Brass"),
        theme_vectors=np.array([make_vector("strings"), make_vector("brass")]),
    )


def make_changes(
    expected: int = -1, generation: int = 5, *, partition: Partition | None = None
) -> CommunityChanges:
    """Everything, for the first time."""
    return CommunityChanges(
        expected=expected,
        generation=generation,
        partition=partition or make_partition(),
        reports=[make_report(id_) for id_ in REPORTED],
        topics=make_topics(),
    )


class CommunityWriterSuite(StoreSuite):
    """`ports.CommunityWriter`, and with it `ports.CommunityStore`."""

    @pytest.fixture
    def keeper(self, store: Store) -> Communities:
        """Where the communities of `store` are kept; to be overridden."""
        raise NotImplementedError

    @pytest.fixture
    def filled(self, keeper: Communities) -> Communities:
        assert keeper.write(make_changes())
        return keeper

    def test_at_first_there_are_none(self, keeper: Communities) -> None:
        state = keeper.generation(), keeper.partition(), dict(keeper.report_bases())
        assert state == (-1, None, {})
        assert keeper.communities() == keeper.communities(ids=[1]) == []
        assert keeper.topics() == keeper.topics(ids=[1]) == []
        assert (keeper.members().shape, keeper.topic_chunks([1]).shape) == ((0, 3), (0, 2))
        pairs = (keeper.community_vectors(0), keeper.topic_vectors(), keeper.theme_vectors())
        assert [(len(ids), len(vectors)) for ids, vectors in pairs] == [(0, 0)] * 3

    @pytest.mark.parametrize("rows", [ROWS, ()])
    def test_the_partition_comes_back_equal(
        self, store: Store, keeper: Communities, rows: Sequence[Row]
    ) -> None:
        generation, written = store.generation(), make_partition(rows)
        reports = make_changes().reports if rows else []
        assert keeper.write(replace(make_changes(partition=written), reports=reports))
        found = keeper.partition()
        assert found is not None
        for name in (field.name for field in fields(Partition)):
            assert np.array_equal(getattr(found, name), getattr(written, name)), name
        assert keeper.generation() == 5
        assert dict(keeper.report_bases()) == {one.community_id: one.basis for one in reports}
        shown = [row for row in rows if row[0] in REPORTED]
        members = [[e, level, id_] for id_, level, _, held in shown for e in held]
        assert keeper.members().tolist() == sorted(members)
        assert store.generation() == generation  # it is no change of the store

    def test_those_with_a_report_are_shown_the_largest_first(self, filled: Communities) -> None:
        assert [c.id for c in filled.communities()] == [7, 3, 4, 5]
        assert [c.id for c in filled.communities(ids=[5, 99, 9, 3])] == [5, 3]
        assert filled.communities(ids=[7, 4])[1].parent == 3
        assert filled.communities()[0] == Community(
            id=7,
            level=0,
            parent=None,
            title="Report 7",
            summary="Summary of “7”.",
            entities=("Ä7", "B"),
            size=7,
            sources=(8, 5),
        )

    def test_every_level_shows_everything_once(self, filled: Communities) -> None:
        for level, expected in [(0, [7, 3]), (1, [7, 4, 5]), (6, [7, 4, 5])]:
            assert [c.id for c in filled.communities(level=level)] == expected
            ids, vectors = filled.community_vectors(level)
            assert ids.tolist() == sorted(expected)
            assert np.array_equal(vectors, [make_report(i).vector for i in sorted(expected)])
        assert [c.id for c in filled.communities(level=1, ids=[3, 5])] == [5]

    def test_what_stays_keeps_its_report_and_what_goes_is_gone(self, filled: Communities) -> None:
        """Two parts lose their whole; one of them, and a new community, have a new report."""
        rows = [(4, 0, 0, ROWS[1][3]), (5, 0, 0, ROWS[2][3]), (10, 0, 0, {21, 22, 23, 24})]
        changes = CommunityChanges(
            expected=5,
            generation=6,
            partition=make_partition(rows, next_id=11),
            reports=[make_report(5, "New"), make_report(10, "New")],
            topics=None,
        )
        topics = filled.topics()
        assert filled.write(changes)
        found = [(c.id, c.title, c.level, c.parent, c.size) for c in filled.communities()]
        assert found == [
            (10, "New 10", 0, None, 4),
            (4, "Report 4", 0, None, 3),
            (5, "New 5", 0, None, 3),
        ]
        assert np.array_equal(
            filled.community_vectors(0)[1],
            [make_report(4).vector, make_report(5, "New").vector, make_report(10, "New").vector],
        )
        assert (filled.generation(), filled.topics()) == (6, topics)

    def test_topics_come_with_their_themes_those_of_most_documents_first(
        self, filled: Communities
    ) -> None:
        found = [(t.name, t.theme, t.passages, t.documents) for t in filled.topics()]
        assert found == [
            ("Lyre", "Strings", 2, 3),
            ("Tuba", "Brass", 3, 2),
            ("Harp", "Strings", 1, 2),
        ]
        lyre, tuba, harp = (topic.id for topic in filled.topics())
        assert [t.id for t in filled.topics(ids=[harp, 999, lyre])] == [harp, lyre]
        assert filled.topic_chunks([tuba, 999, harp]).tolist() == sorted(
            [[harp, 100], [tuba, 98], [tuba, 99], [tuba, 100]]
        )

    def test_topic_and_theme_vectors_come_by_id(self, filled: Communities) -> None:
        name = {topic.id: topic.name.lower() for topic in filled.topics()}
        ids, vectors = filled.topic_vectors()
        assert ids.tolist() == sorted(name)
        assert np.array_equal(vectors, [make_vector(name[id_]) for id_ in ids.tolist()])
        themes, theme_vectors = filled.theme_vectors()
        assert [(name[i], t) for i, t in zip(ids.tolist(), themes.tolist(), strict=True)] == [
            ("harp", 0),
            ("lyre", 0),
            ("tuba", 1),
        ]
        assert np.array_equal(theme_vectors, make_topics().theme_vectors)

    def test_a_topic_keeps_its_id_and_no_id_is_used_twice(self, filled: Communities) -> None:
        before = {topic.name: topic.id for topic in filled.topics()}
        new = make_topics(["lyre", "oboe", "harp"])
        assert filled.write(replace(make_changes(5, 6), reports=[], topics=new))
        after = {topic.name: topic.id for topic in filled.topics()}
        assert (after["Lyre"], after["Harp"]) == (before["Lyre"], before["Harp"])
        assert after["Oboe"] not in before.values()
        assert len(filled.topic_chunks([before["Tuba"]])) == 0

    @pytest.mark.parametrize("expected", [-1, 4, 5, 6])
    def test_what_is_not_taken_changes_nothing(self, filled: Communities, expected: int) -> None:
        """Work that began with another state; with the right one, what fails in the middle."""
        before = filled.communities(), filled.topics(), filled.generation()
        twice = make_topics(["harp", "harp"])
        changes = make_changes(expected, 9, partition=make_partition(ROWS[:1]))
        with pytest.raises(StoreError) if expected == 5 else nullcontext():
            assert not filled.write(replace(changes, topics=twice))
        assert (filled.communities(), filled.topics(), filled.generation()) == before
