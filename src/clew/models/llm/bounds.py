"""How much a provider may answer; a server that sends without an end is cut off."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2

from clew.errors import ReplyError

MOST_BYTES = 16_000_000
"""Of a reply; more is no reply."""


class _Bounded(httpx2.AsyncByteStream):
    """The bytes of a response, as long as they keep to the size of a reply."""

    def __init__(self, response: httpx2.Response) -> None:
        stream = response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)
        self._stream, self._name = stream, response.url.netloc.decode()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            size += len(piece)
            if size > MOST_BYTES:
                raise too_long(self._name)
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


async def bound(response: httpx2.Response) -> None:
    """Bound what is read of a response; a hook of clients that ask for nothing packed."""
    if response.headers.get("content-encoding", "identity") != "identity":
        # A few bytes could unpack to any number.
        name = response.url.netloc.decode()
        raise ReplyError(f"{name} answers packed, which was not asked for", "malformed")
    response.stream = _Bounded(response)


def too_long(name: str) -> ReplyError:
    """The error of a server that sends without an end."""
    return ReplyError(f"{name} answers with more than {MOST_BYTES:,} bytes", "malformed")
