"""What there is on something that need not be a topic of the store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import clew
from tests.unit.asked import add

TEXTS = {
    "Sandbox": "Capsicum is a sandbox of FreeBSD. The client enters it by its own setting.",
    **{
        f"Server {n}": f"The client connects to server {n}. The server list names the chat network,"
        f" and the chat network has channel {n}."
        for n in range(12)
    },
    **{
        f"Theme {n}": f"The theme file number {n} has colours for the status bar and for the window"
        f" list. The status bar is drawn below the window list."
        for n in range(12)
    },
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clew.Clew]:
    # By a real model: how sure it is of a passage depends on meaning, too.
    with clew.open(tmp_path_factory.mktemp("store")) as engine:
        add(engine, TEXTS, {})
        yield engine


@pytest.mark.parametrize(
    "question",
    ["What do we have on Capsicum?", "Is there anything about capsicum?", "documents on capsicum"],
)
def test_what_is_asked_about_comes_first_though_it_is_no_topic(
    engine: clew.Clew, question: str
) -> None:
    found = engine.search(question)
    assert found.answered
    assert found.hits[0].chunk.title == "Sandbox"


def test_what_nothing_is_about_is_not_answered(engine: clew.Clew) -> None:
    assert not engine.search("Is there anything about sourdough?").answered


def test_who_asks_for_topics_gets_topics_alone(engine: clew.Clew) -> None:
    found = engine.search("What do we have on the status bar?", strategy="topic")
    assert all(hit.confidence is None for hit in found.hits)
    assert found.hits[0].chunk.title.startswith("Theme")
