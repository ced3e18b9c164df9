"""Threads that wait for others, such as a language model; whoever is interrupted leaves them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")


class Workers:
    """Threads that work while the block lasts; its end waits for them, unless by Ctrl-C.

    `ThreadPoolExecutor` waits then, too, and once more at the end of the process: for as long as
    a request may take.
    """

    def __init__(self, count: int, name: str) -> None:
        self._left: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._threads = [Thread(target=self._work, name=name, daemon=True) for _ in range(count)]

    def __enter__(self) -> Workers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        interrupted = kind is not None and issubclass(kind, KeyboardInterrupt)
        if interrupted:
            self._forget()
        for _thread in self._threads:
            self._left.put(None)
        for thread in self._threads if not interrupted else ():
            thread.join()

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """What will come of some work."""
        future: Future[T] = Future()
        self._left.put((future, work))
        return future

    def _forget(self) -> None:
        """Drop what was not begun."""
        while True:
            try:
                self._left.get_nowait()
            except Empty:
                return

    def _work(self) -> None:
        while (task := self._left.get()) is not None:
            future, work = task
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(work())
            except BaseException as error:  # noqa: BLE001 - whoever waits is told
                future.set_exception(error)
