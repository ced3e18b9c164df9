"""What a plugin gives by a hook has its effect beside, and before, what ships."""

from __future__ import annotations

from collections.abc import Iterator
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
from clew.types import Document, NamedStrategy

MAIL = b"From: Ada <ada@x.org>\nTo: bo@x.org\nDate: Mon, 1 Jan 2024 10:00:00 +0000\n\nHello\n"


@contextmanager
def registered(hook: str, given: object) -> Iterator[None]:
    """A plugin that gives this by a hook, and comes and goes while the process runs."""
    plugin = type("Plugin", (), {hook: hookimpl(lambda self: given)})()
    plugins().register(plugin)
    for asked in (listed, named):
        asked.cache_clear()
    try:
        yield
    finally:
        plugins().unregister(plugin)
        for asked in (listed, named):
            asked.cache_clear()


def shouted(raw: RawFile) -> ReadResult | None:
    """Reads what says so."""
    if b"SHOUT" not in raw.data:
        return None
    return ReadResult(documents=(Document(source=raw.source, text="shouted"),))


@pytest.mark.parametrize("key", [".eml", "note.eml", "message/rfc822"])
def test_another_reader_goes_before_the_one_that_ships_or_leaves_the_file_to_it(
    key: str, tmp_path: Path
) -> None:
    file = tmp_path / "note.eml"

    def read(data: bytes) -> str:
        file.write_bytes(data)
        return read_file(file, ReadSettings()).documents[0].text

    with registered("readers", {key: shouted}):
        assert read(MAIL + b"SHOUT") == "shouted"
        assert "Hello" in read(MAIL)
    assert "Hello" in read(MAIL + b"SHOUT")


def test_a_file_of_pdf_is_never_taken_for_text() -> None:
    """By its content, whatever its name: readers of plain text are not asked."""
    plain = registered("readers", {"text/plain": shouted})
    with plain, pytest.raises(clew.ClewError, match="malformed"):
        read_raw(RawFile(source="notes.txt", data=b"%PDF-1.7 SHOUT", settings=ReadSettings()))


def newest(session: QuerySession) -> RetrievalResult:
    """The passages of the newest documents."""
    ids = np.sort(session.channels.by_keyword().ids)[::-1]
    return RetrievalResult(ranking=Ranking.in_order(ids))


def test_a_strategy_is_asked_for_by_its_name(engine: clew.Clew) -> None:
    newest_first = NamedStrategy("newest")
    for day in ("Monday", "Tuesday", "Friday"):
        engine.add(f"The ferry left on {day}.", source=day)
    with pytest.raises(InputError, match="unknown strategy 'newest'; expected one of vector"):
        engine.search("When did the ferry leave?", strategy=newest_first)
    with registered("strategies", {"newest": Strategy(newest, "passages", ("max_hops",))}):
        found = engine.search("When did the ferry leave?", strategy=newest_first, max_hops=2)

    assert [hit.chunk.source for hit in found.hits] == ["Friday", "Tuesday", "Monday"]
    assert found.strategy == "newest"
    assert not any("has no effect" in note for note in found.notes)


def test_members_are_those_of_every_store_as_if_they_stood_in_its_class(engine: Any) -> None:  # noqa: ANN401
    held = property(lambda store: len(store.documents.list()))
    members = {"held": held, "times": lambda store, count: count * store.held}
    with registered("members", members):
        engine.add("The ferry left on Monday.")
        assert (engine.held, engine.times(3)) == (1, 3)
        with pytest.raises(AttributeError, match="no attribute 'hold'"):
            assert engine.hold


def test_a_functional_relation_type_belongs_in_a_pack(engine: clew.Clew) -> None:
    functional = registered("relation_types", [RelationType(name="led_by", functional=True)])
    with functional, pytest.raises(InputError, match=r"'led_by'.*pack"):
        engine.add("Ada Morn leads the guild.")


def test_what_is_no_tool_is_refused_by_name(engine: clew.Clew) -> None:
    with registered("tools", ["clew.errors:InputError"]):
        outcome = engine.tools.call("nothing_of_that_name")

    assert outcome.is_error
    assert "InputError" in outcome.content["error"]
    assert "as a tool, not a Tool" in outcome.content["error"]


@pytest.mark.parametrize(
    ("name", "pack", "says"),
    [
        ("mine", Pack(name="yours", title="Yours"), r"a clew\.hookspecs\.Pack with name='mine'"),
        ("gone", "nothing_of_that_name:PACK", "'gone' cannot be loaded.*nothing_of_that_name"),
    ],
)
def test_a_pack_under_another_name_is_refused_and_one_that_is_gone_named(
    engine: clew.Clew, name: str, pack: object, says: str
) -> None:
    with registered("packs", {name: pack}):
        assert {name, "papers"} <= set(available(()))
        with pytest.raises(InputError, match=says):
            engine.packs.enable(name)
