"""The library for programs that await: the same methods, done in threads.

A call whose task is cancelled ends: the work in its thread stops at its next step.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial, wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar, Unpack

import anyio
from anyio import from_thread, to_thread

from clew.library import Clew
from clew.request_end import RequestEndedError, request

if TYPE_CHECKING:
    from clew.engine.search import AskOptions
    from clew.types import Answer

Given = ParamSpec("Given")
Result = TypeVar("Result")


async def in_thread(work: Callable[[], Result]) -> Result:
    """Return what some work comes to; where the task that waits is cancelled, the work ends."""
    with request():
        return await to_thread.run_sync(work, abandon_on_cancel=True)


def awaited(
    method: Callable[Concatenate[Clew, Given], Result],
) -> Callable[Concatenate[AsyncClew, Given], Awaitable[Result]]:
    """Return a method of `Clew` to be awaited."""

    @wraps(method)
    async def call(self: AsyncClew, /, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        return await in_thread(partial(method, self.clew, *args, **kwargs))

    return call


class AsyncClew:
    """One namespace's store, its methods awaited; made by `clew.aopen`.

    `clew` is the store itself: its parts (`entities`, `graph`, …) are called in threads by
    `await clew.aio.in_thread(partial(store.clew.graph.communities, level=1))`.

    Example:
        >>> import asyncio
        >>> async def ask():
        ...     async with clew.aopen("notes.clew") as notes:
        ...         await notes.add("Ada Marsh built the clock.", source="clock")
        ...         return await notes.text("clock")
        >>> asyncio.run(ask())
        'Ada Marsh built the clock.'
    """

    def __init__(self, clew: Clew) -> None:
        self.clew = clew

    index = awaited(Clew.index)
    add = awaited(Clew.add)
    add_documents = awaited(Clew.add_documents)
    update = awaited(Clew.update)
    delete = awaited(Clew.delete)
    get = awaited(Clew.get)
    text = awaited(Clew.text)
    vectors = awaited(Clew.vectors)
    contains = awaited(Clew.__contains__)
    list = awaited(Clew.list)
    count = awaited(Clew.count)
    search = awaited(Clew.search)

    async def ask(
        self,
        question: str,
        **options: Unpack[AskOptions],
    ) -> Answer:
        """The answer in statements; see `Clew.ask`."""
        return await in_thread(partial(self.clew.ask, question, **options))

    @asynccontextmanager
    async def streamed(
        self,
        question: str,
        **options: Unpack[AskOptions],
    ) -> AsyncIterator[tuple[AsyncIterator[str], Callable[[], Answer]]]:
        """Ask, and go through the answer while it is written; the options are those of `ask`.

        Gives the pieces, each as soon as it was checked, and what returns the whole behind them.

            async with store.streamed("Who built the clock?") as (pieces, answer):
                async for piece in pieces:
                    print(piece, end="")
            print(answer().sources)
        """
        send, receive = anyio.create_memory_object_stream[str](math.inf)
        made: list[Answer] = []

        def answer() -> Answer:
            if not made:
                raise RequestEndedError("the answer is not whole: go through its pieces first")
            return made[0]

        async def work() -> None:
            def tell(piece: str) -> None:
                from_thread.run_sync(send.send_nowait, piece)

            async with send:
                ask = partial(self.clew.ask, question, tell=tell, **options)
                made.append(await in_thread(ask))

        try:
            async with anyio.create_task_group() as tasks, receive:
                tasks.start_soon(work)
                yield receive, answer
                # Who goes through a part of it waits for no more.
                tasks.cancel_scope.cancel()
        except ExceptionGroup as errors:
            if len(errors.exceptions) > 1:
                raise
            raise errors.exceptions[0] from None


@asynccontextmanager
async def opened(make: Callable[[], Clew]) -> AsyncIterator[AsyncClew]:
    """What `clew.aopen` gives: a store that `make` opens, closed in the end."""
    clew = await in_thread(make)
    try:
        yield AsyncClew(clew)
    finally:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(clew.close)
