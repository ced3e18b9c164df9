"""A service that searches, and answers in pieces: uvicorn --app-dir examples use_fastapi:app."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from fastapi import Depends, FastAPI
from fastapi.responses import StreamingResponse

import clew


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    with TemporaryDirectory() as folder:
        async with clew.aopen(folder) as app.state.store:
            await app.state.store.add("Ada Morn built the great clock of Vell.", source="clock")
            yield


app = FastAPI(lifespan=lifespan)


@app.get("/search")
async def search(question: str, limit: int = 5) -> list[dict[str, Any]]:
    return (await app.state.store.search(question, limit=limit)).to_dicts()


# A dependency ends with its request: who hangs up waits for no more.
async def answered(question: str) -> AsyncIterator[AsyncIterator[str]]:
    async with app.state.store.streamed(question) as (pieces, _):
        yield pieces


@app.get("/ask")
async def ask(pieces: Annotated[AsyncIterator[str], Depends(answered)]) -> StreamingResponse:
    return StreamingResponse(pieces, media_type="text/plain")
