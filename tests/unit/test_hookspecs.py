"""What a plugin gives by a hook has its effect beside, and before, what ships."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clew
from clew.errors import InputError
from clew.hookspecs import Pack, RelationType, hookimpl, listed, named, plugins
from clew.indexing.inputs import read_file, read_raw
from clew.indexing.reading.common import RawFile, ReadResult
from clew.packs import available
from clew.search.answer.blocks import RetrievalResult
from clew.search.channels import Ranking
from clew.search.pipeline import Strategy
from clew.search.session import QuerySession
from clew.settings import ReadSettings
from clew.testing.fakes import HashEmbedder
from clew.types import Document

MAIL = b"From: Ada <ada@x.org>\nTo: bo@x.org\nDate: Mon, 1 Jan 2024 10:00:00 +0000\n\nHello\n"


@contextmanager
def registered(plugin: object) -> Iterator[None]:
    """A plugin that comes and goes while the process runs, as no other does."""
    plugins().register(plugin)
    for asked in (listed, named):
        asked.cache_clear()
    try:
        yield
    finally:
        plugins().unregister(plugin)
        for asked in (listed, named):
            asked.cache_clear()


class Shouting:
    """Reads what says so, by each of the three ways to name a file."""

    def __init__(self, key: str) -> None:
        self.key = key

    def read(self, raw: RawFile) -> ReadResult | None:
        return (
            None
            if b"SHOUT" not in raw.data
            else ReadResult(documents=(Document(source=raw.source, text="shouted"),))
        )

    @hookimpl
    def readers(self) -> Mapping[str, object]:
        return {self.key: self.read}


@pytest.mark.parametrize("key", [".eml", "note.eml", "message/rfc822"])
def test_another_reader_goes_before_the_one_that_ships_or_leaves_the_file_to_it(
    key: str, tmp_path: Path
) -> None:
    file = tmp_path / "note.eml"
    with registered(Shouting(key)):
        file.write_bytes(MAIL + b"SHOUT")
        shouted = read_file(file, ReadSettings()).documents[0].text
        file.write_bytes(MAIL)
        quiet = read_file(file, ReadSettings()).documents[0].text
    file.write_bytes(MAIL + b"SHOUT")
    afterwards = read_file(file, ReadSettings()).documents[0].text

    assert shouted == "shouted"
    assert "Hello" in quiet
    assert "Hello" in afterwards


def test_a_file_of_pdf_is_never_taken_for_text() -> None:
    """By its content, whatever its name: readers of plain text are not asked."""
    with registered(Shouting("text/plain")), pytest.raises(clew.ClewError, match="malformed"):
        read_raw(RawFile(source="notes.txt", data=b"%PDF-1.7 SHOUT", settings=ReadSettings()))


class Functional:
    @hookimpl
    def relation_types(self) -> Sequence[RelationType]:
        return [RelationType(name="led_by", functional=True)]


def newest(session: QuerySession) -> RetrievalResult:
    """The passages of the newest documents."""
    ids = np.sort(session.channels.by_keyword().ids)[::-1]
    return RetrievalResult(ranking=Ranking.in_order(ids))


class Newest:
    @hookimpl
    def strategies(self) -> Mapping[str, object]:
        return {"newest": Strategy(newest, "passages", ("max_hops",))}


def test_a_strategy_is_asked_for_by_its_name(tmp_path: Path) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as store:
        for day in ("Monday", "Tuesday", "Friday"):
            store.add(f"The ferry left on {day}.", source=day)
        with pytest.raises(InputError, match="unknown strategy 'newest'; expected one of vector"):
            store.search("When did the ferry leave?", strategy="newest")
        with registered(Newest()):
            found = store.search("When did the ferry leave?", strategy="newest", max_hops=2)

    assert [hit.chunk.source for hit in found.hits] == ["Friday", "Tuesday", "Monday"]
    assert found.strategy == "newest"
    assert not any("has no effect" in note for note in found.notes)


class Counting:
    @hookimpl
    def members(self) -> Mapping[str, object]:
        held = property(lambda store: len(store.documents.list()))
        return {"held": held, "times": lambda store, count: count * store.held}


def test_members_are_those_of_every_store_as_if_they_stood_in_its_class(tmp_path: Path) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as opened, registered(Counting()):
        store: Any = opened
        store.add("The ferry left on Monday.")
        assert (store.held, store.times(3)) == (1, 3)
        with pytest.raises(AttributeError, match="no attribute 'hold'"):
            assert store.hold


class NoTool:
    @hookimpl
    def tools(self) -> Sequence[object]:
        return ["clew.errors:InputError"]


def test_a_functional_relation_type_belongs_in_a_pack(tmp_path: Path) -> None:
    with (
        registered(Functional()),
        clew.open(tmp_path, embedder=HashEmbedder()) as store,
        pytest.raises(InputError, match=r"'led_by'.*pack"),
    ):
        store.add("Ada Morn leads the guild.")


def test_what_is_no_tool_is_refused_by_name(tmp_path: Path) -> None:
    with registered(NoTool()), clew.open(tmp_path, embedder=HashEmbedder()) as store:
        outcome = store.tools.call("nothing_of_that_name")

    assert outcome.is_error
    assert "InputError" in outcome.content["error"]
    assert "as a tool, not a Tool" in outcome.content["error"]


class WrongPack:
    @hookimpl
    def packs(self) -> Mapping[str, object]:
        return {"mine": Pack(name="yours", title="Yours"), "gone": "nothing_of_that_name:PACK"}


def test_a_pack_under_another_name_is_refused_and_one_that_is_gone_named(tmp_path: Path) -> None:
    with registered(WrongPack()), clew.open(tmp_path, embedder=HashEmbedder()) as store:
        assert {"mine", "gone", "papers"} <= set(available(()))
        with pytest.raises(InputError, match=r"expected a clew\.hookspecs\.Pack with name='mine'"):
            store.packs.enable("mine")
        with pytest.raises(InputError, match=r"'gone' cannot be loaded.*nothing_of_that_name"):
            store.packs.enable("gone")
