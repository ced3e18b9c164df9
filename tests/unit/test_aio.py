"""The library for programs that await."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import anyio
import pytest

import clew
from clew.request_end import go_on
from clew.testing.fakes import HashEmbedder
from clew.types import Vector

pytestmark = pytest.mark.anyio
NOTE = "Ada Morn built the great clock of Vell."


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Slow(HashEmbedder):
    """Embeds a question for ten seconds, or until nobody waits for it any more."""

    stopped = threading.Event()

    def embed_query(self, text: str) -> Vector:
        for _ in range(1000 if "forever" in text else 0):
            time.sleep(0.01)
            try:
                go_on()
            except clew.ClewError:
                self.stopped.set()
                raise
        return super().embed_query(text)


async def test_a_store_is_awaited_as_it_is_called(tmp_path: Path) -> None:
    async with clew.aopen(tmp_path, embedder=HashEmbedder()) as store:
        made = await store.add(NOTE, source="note")
        found = [await store.search("Who built the clock?") for _ in range(2)]
        assert await store.count() == len(await store.list()) == 1
        assert (await store.get("note")).id == made
        assert [hit.chunk.text for hit in found[0]] == [NOTE]
        assert (await store.ask("Who built the great clock of Vell?")).sources
        with pytest.raises(clew.ClewError):
            await store.delete(["no such"])
        assert await store.delete([made]) == 1
    with clew.open(tmp_path, embedder=HashEmbedder()) as after:
        assert not len(after)


async def test_questions_are_asked_at_once(tmp_path: Path) -> None:
    async with clew.aopen(tmp_path, embedder=HashEmbedder()) as store:
        await store.add(NOTE, source="note")
        found: list[int] = []

        async def ask(number: int) -> None:
            found.append(len(await store.search(f"clock {number}")))

        async with anyio.create_task_group() as tasks:
            for number in range(8):
                tasks.start_soon(ask, number)
    assert found == [1] * 8


async def test_an_answer_is_gone_through_while_it_is_written(tmp_path: Path) -> None:
    async with clew.aopen(tmp_path, embedder=HashEmbedder()) as store:
        await store.add(NOTE, source="note")
        async with store.streamed("Who built the great clock of Vell?") as (pieces, answer):
            told = "".join([piece async for piece in pieces])
        assert told.strip() == answer().text.strip()
        async with store.streamed("Who built the great clock of Vell?") as (pieces, _):
            pass  # nobody listens


async def test_what_is_cancelled_ends(tmp_path: Path) -> None:
    async with clew.aopen(tmp_path, embedder=Slow()) as store:
        await store.add(NOTE, source="note")
        with anyio.move_on_after(0.3) as scope:
            await store.search("How long is forever?")
        assert scope.cancelled_caught
        assert await anyio.to_thread.run_sync(Slow.stopped.wait, 5), "the thread works on"
        assert len(await store.search("Who built the clock?")) == 1


async def test_an_answer_that_is_not_whole_is_not_given(tmp_path: Path) -> None:
    async with clew.aopen(tmp_path, embedder=HashEmbedder()) as store:
        await store.add(NOTE, source="note")
        assert await store.contains("note")
        async with store.streamed("Who built the great clock of Vell?") as (pieces, answer):
            with pytest.raises(clew.ClewError, match="go through its pieces first"):
                answer()
            assert "".join([piece async for piece in pieces]) == answer().text
