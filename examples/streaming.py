"""Go through an answer while it is written; without a language model it is one quotation."""

import asyncio

import clew

NOTES = [
    "Skerrow Rock Light was built by Ilse Marrable.",
    "Ilse Marrable was apprenticed to Tobias Fenn.",
]
QUESTION = "Who built Skerrow Rock Light?"

with clew.open("streaming.clew") as store:
    for number, note in enumerate(NOTES):
        store.add(note, source=f"note-{number}")
    with store.streamed(QUESTION) as (pieces, answer):
        for piece in pieces:
            print(piece, end="", flush=True)
    print("\nsources:", [source.source for source in answer().sources])


async def main() -> None:
    """Do the same in a program that awaits."""
    async with clew.aopen("streaming.clew") as store, store.streamed(QUESTION) as (pieces, _):
        async for piece in pieces:
            print(piece, end="", flush=True)


asyncio.run(main())
