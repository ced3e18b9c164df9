"""A model writes reports on communities: what rests on nothing is dropped, all is taken back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import clew
from clew.indexing.enrichment.descriptions import UNSUPPORTED
from clew.library import Clew
from clew.ports.models import Reply, Request
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder, ScriptedLanguageModel
from clew.types import Community

CLOCKS = [
    "Ada Morn and Tobias Fenn built the clock of Vell. Brida Kall paid for it.",
    "Tobias Fenn taught Ada Morn. Brida Kall saw Tobias Fenn in Vell.",
    "Brida Kall and Ada Morn opened the Guild of Vell with Tobias Fenn.",
]
MILLS = [
    "Edda Rowe and Piet Oss bought the mill of Gouda. Cy Quist sold it.",
    "Piet Oss married Edda Rowe. Cy Quist met Piet Oss in Gouda.",
    "Cy Quist and Edda Rowe left Gouda with Piet Oss.",
]
_BLOCK = re.compile(r"<document[^>]*>\n(.*?)\n</document>", re.DOTALL)


def sentence(text: str) -> str:
    return text.partition(".")[0]


def faithful(texts: list[str]) -> object:
    """Says the first sentence of the first text; and, after it, things that stand nowhere."""
    said = sentence(texts[0])
    return {
        "title": "Who built it",
        "statements": [
            {"quote": said, "text": f"{said}."},
            {"quote": "Ada Morn flew to the moon.", "text": "Somebody flew away."},
            {"quote": said, "text": "It was all done by Napoleon."},
        ],
    }


class Writing(ScriptedLanguageModel):
    """Writes by what it is sent."""

    def __init__(self, write: Callable[[list[str]], object] = faithful) -> None:
        super().__init__()
        self.write = write

    def reply(self, request: Request) -> Reply:
        with self._lock:
            self.asked.append(request)
        texts = _BLOCK.findall(request.messages[0].text)
        return Reply(text=json.dumps(self.write(texts)), finish="stop", model="m")


def opened(folder: Path, model: ScriptedLanguageModel | None = None) -> Clew:
    settings = load_settings(store=folder)
    return clew.open(settings=settings, embedder=HashEmbedder(), language_model=model)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with opened(tmp_path) as store:
        texts = [*CLOCKS, *MILLS]
        store.add_documents([clew.Document(source=str(n), text=t) for n, t in enumerate(texts)])
        assert len(store.graph.communities()) >= 2
    return tmp_path


def reports(store: Clew) -> dict[int, Community]:
    return {one.id: one for one in store.state.communities.communities()}


def test_statements_rest_on_words_of_passages(folder: Path) -> None:
    with opened(folder, Writing()) as store:
        before = reports(store)
        (report,) = store.enrich("reports")
        after = reports(store)

        assert (report.done, report.failed) == (len(before), ())
        for id_, one in after.items():
            first, *relations = one.summary.splitlines()
            assert first.endswith(" [1]")
            assert "Napoleon" not in first
            assert "flew" not in first
            cited = store.store.chunks(one.sources)[0].text
            assert sentence(first) == sentence(cited)
            assert one.title == "Who built it"
            assert relations == [x for x in before[id_].summary.splitlines() if x[:2] == "- "]
        assert report.dropped == {UNSUPPORTED: 2 * len(before)}
        assert store.maintenance.check().problems == ()


def test_each_number_has_its_source_wherever_a_report_is_shown(folder: Path) -> None:
    with opened(folder, Writing()) as store:
        store.enrich("reports")
        told = store.tools.call("list_communities", {}).content["communities"]
        context = store.search("the whole", strategy="global").context
        for one, shown in zip(store.graph.communities(), told, strict=True):
            cited = store.store.chunks(one.sources)
            assert shown["sources"] == [chunk.source for chunk in cited]
            statement = one.summary.splitlines()[0]
            assert sentence(statement) in cited[0].text
            named = statement.replace("[1]", f"({cited[0].title or cited[0].source})")
            assert named in context.text
        numbers = {citation.number for citation in context.citations}
        assert {int(n) for n in re.findall(r"\[(\d+)\]", context.text)} <= numbers


def test_a_number_in_a_text_is_no_citation_of_a_report(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        for number, text in enumerate(CLOCKS):
            store.add(text.replace(". ", " [1]. "), source=str(number))
        said = [one.summary for one in store.graph.communities()]
    assert "(1)" in "".join(said)
    assert "[1]" not in "".join(said)


def test_they_are_taken_back_and_only_what_changed_is_written_again(folder: Path) -> None:
    model = Writing()
    with opened(folder, model) as store:
        before = reports(store)
        store.enrich("reports")
        asked = len(model.asked)
        assert store.enrich("reports")[0].done == 0
        assert store.enriching.undo("reports") == len(before)
        assert reports(store) == before
        assert store.enrich("reports")[0].requests == 0

        store.add("Hal Dorn and Cy Quist burnt the mill of Gouda of Edda Rowe.", source="new")
        store.add("Piet Oss met Hal Dorn in Gouda. Edda Rowe saw Hal Dorn.", source="newer")
        (again,) = store.enrich("reports")

    assert 0 < again.requests < asked
    assert all("Gouda" in request.messages[0].text for request in model.asked[asked:])


def test_a_report_that_rests_on_nothing_leaves_the_texts_own(folder: Path) -> None:
    wrong = {"title": "T", "statements": [{"quote": "Nobody said so.", "text": "Nobody said so."}]}
    with opened(folder, Writing(lambda _: wrong)) as store:
        before = reports(store)
        (report,) = store.enrich("reports")
        assert reports(store) == before
        assert len(store.enriching.failures("reports")) == len(report.failed) == len(before)
        assert "no statement of the report has words that stand there" in report.failed[0].reason
        assert store.enrich("reports")[0].requests == 0
        assert store.enrich("reports", retry=True)[0].requests == len(before)


def test_a_coarser_report_is_told_what_was_said_of_its_parts(folder: Path) -> None:
    model = Writing()
    with opened(folder, model) as store:
        store.enrich("reports")
        found = reports(store)
        parents = {one.parent for one in found.values() if one.parent in found}
        subjects = [request.subject for request in model.asked]
        for parent in parents:
            place = subjects.index(
                next(s for s in subjects if s.startswith(f"community {parent}:"))
            )
            parts = [one for one in found.values() if one.parent == parent]
            assert all(one.summary in model.asked[place].messages[0].text for one in parts)
