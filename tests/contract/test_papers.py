"""The pack `papers` on each back end: what a bibliography states, and the questions it answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fpdf import FPDF

import clew.plugins.papers
from clew import Clew
from clew.plugins.papers.bibliography import read_bibtex
from tests.contract.pack_stores import open_with, pack_settings

CORPUS = Path(clew.plugins.papers.__file__).parent / "corpus"
BERT = "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding"
ATTENTION = "Attention Is All You Need"


ROBERTA = "RoBERTa: A Robustly Optimized BERT Pretraining Approach"
ALBERT = "ALBERT: A Lite BERT for Self-supervised Learning of Language Representations"
DENSE = "Dense Passage Retrieval for Open-Domain Question Answering"
ELMO = "Deep Contextualized Word Representations"
GPT = "Improving Language Understanding by Generative Pre-Training"
QLORA = "QLoRA: Efficient Finetuning of Quantized Language Models"
QUESTIONS = [
    "What papers built on BERT?",
    "How did attention evolve from 2017 to 2022?",
    "Compare BERT and LLaMA",
    "What is LoRA?",
    "What improvements were made after 2020?",
]


@pytest.fixture(scope="module", params=["sqlite", "neo4j"])
def library(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Clew]:
    folder = tmp_path_factory.mktemp("papers")
    boost = {"fields": {"citations": 0.2}, "importance": 0.1}
    with (
        pack_settings(request, request.param, folder, boost=boost) as settings,
        open_with(settings, ["papers"]) as store,
    ):
        report = store.index([CORPUS])
        assert (report.added, report.skipped) == (41, ())
        yield store


def related(store: Clew, name: str, relation: str, direction: str) -> set[str]:
    entity = store.entities.get(name)
    call = {"entity_id": entity.id, "relation_type": relation, "direction": direction, "limit": 50}
    found = store.tools.call("get_entity_neighbors", call).content["neighbors"]
    return {one["neighbor_name"] for one in found}


@pytest.mark.parametrize(
    ("name", "relation", "direction", "expected"),
    [
        # from BibTeX by key, from JSON by title
        ("BERT", "cites", "inbound", {ROBERTA, DENSE}),
        ("BERT", "cites", "outbound", {ATTENTION, ELMO, GPT}),
        # what precedes follows from citation and year
        ("BERT", "precedes", "outbound", {ALBERT}),
        ("BERT", "precedes", "inbound", {ATTENTION}),
        ("BERT", "written_by", "outbound", {"Jacob Devlin"}),
        # what builds on and improves is read from the words
        ("LoRA", "builds_on", "inbound", {QLORA}),
        ("LLaMA", "improves", "outbound", {"GPT-3"}),
        ("BERT", "evaluated_on", "outbound", {"GLUE"}),
    ],
)
def test_papers_are_related(
    library: Clew, name: str, relation: str, direction: str, expected: set[str]
) -> None:
    found = related(library, name, relation, direction)
    assert found >= expected
    if relation == "precedes":
        assert ROBERTA not in found  # the same year


def test_a_paper_goes_by_its_short_name_and_its_identifiers(library: Clew) -> None:
    named = [library.entities.get(name) for name in ("BERT", "10.18653/v1/n19-1423", BERT)]

    assert {(one.name, one.entity_type) for one in named} == {(BERT, "paper")}


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_questions_are_answered_in_the_shape_of_the_contract(
    library: Clew, question: str
) -> None:
    found = library.search(question).to_dict()

    assert set(found) >= {"query", "strategy", "reason", "graph_entities", "temporal_info"}
    assert found["results"]
    for one in found["results"]:
        assert set(one) >= {"id", "text", "metadata", "score", "scores", "source", "graph_context"}
        assert one["metadata"]["entity_type"] == "paper"
        assert min(one["scores"]["citations"], one["scores"]["importance"]) >= 0
        assert max(one["scores"]["citations"], one["scores"]["importance"]) <= 1


@pytest.mark.parametrize(
    "question", ["Compare BERT and LLaMA", "What is the difference between BERT and LLaMA?"]
)
def test_a_comparison_of_two_papers_begins_with_both(library: Clew, question: str) -> None:
    found = library.search(question)

    assert {hit.chunk.title for hit in found.hits[:2]} == {
        BERT,
        "LLaMA: Open and Efficient Foundation Language Models",
    }
    assert found.answered, "what tells one side helps to answer"


def test_a_timeline_tells_more_of_a_paper_than_its_year(library: Clew) -> None:
    call = {"query": "How did attention evolve from 2017 to 2022?", "top_k": 10}
    parts = library.tools.call("query_documents", call).content["context"]["parts"]
    (timeline,) = [part["text"] for part in parts if part["text"].startswith("[1] In order")]

    assert ATTENTION in timeline
    assert not re.findall(r": (?:Year: )?\d{4} \(", timeline)


def test_a_development_is_told_by_its_periods_and_what_precedes_what(library: Clew) -> None:
    found = library.search("How did attention evolve from 2017 to 2022?", limit=30)
    stated = [part.text for part in found.context.parts if part.kind == "timeline"]
    pairs = re.findall(r"- (.+) \((\d{4})\) precedes (.+) \((\d{4})\)", stated[0])
    after = related(library, ATTENTION, "precedes", "outbound")

    assert len(pairs) > 3
    assert [pair for pair in pairs if pair[1] >= pair[3]] == []
    assert pairs == sorted(pairs, key=lambda pair: pair[1])
    assert {pair[2] for pair in pairs if pair[0] == ATTENTION} <= after
    assert found.temporal is not None
    periods = [period for period, _ in found.temporal.timeline]
    assert len(periods) > 2
    assert periods == sorted(periods)


def test_what_is_found_is_listed_with_its_citations_and_as_bibtex(library: Clew) -> None:
    arguments = {"query": "BERT", "where": ["year<2020"], "limit": 8}
    graph = library.tools.call("papers_list", {**arguments, "format": "graph"}).content
    written = library.tools.call("papers_list", {**arguments, "format": "bibtex"}).content["bibtex"]
    again, failed = read_bibtex(written)
    edges = {(one["from"], one["relation"], one["to"]) for one in graph["citations"]}
    ends = {end for head, _, tail in edges for end in (head, tail)}
    (bert,) = (paper for paper in again if paper.title == BERT)

    assert (ROBERTA, "builds_on", BERT) in edges
    assert failed == []
    assert ends <= {paper.title for paper in again} == {one["title"] for one in graph["papers"]}
    assert bert.authors == ("Jacob Devlin", "Ming-Wei Chang", "Kenton Lee", "Kristina Toutanova")
    assert (bert.year, bert.identifiers[0]) == (2019, "10.18653/v1/n19-1423")


def test_without_a_question_the_most_cited_papers_are_listed(library: Clew) -> None:
    found = library.tools.call("papers_list", {"limit": 2}).content["papers"]

    assert [one["title"] for one in found] == [ATTENTION, BERT]


@pytest.fixture(params=["sqlite", "neo4j"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Clew]:
    with (
        pack_settings(request, request.param, tmp_path) as settings,
        open_with(settings, ["papers"]) as store,
    ):
        yield store


def test_a_paper_as_pdf_tells_what_it_cites(empty: Clew, tmp_path: Path) -> None:
    write_pdf(tmp_path / "paper.pdf")
    empty.index([tmp_path / "paper.pdf"])
    (paper,) = empty.documents.list()

    assert paper.title == "Walking Graphs to Find Passages"
    assert (paper.metadata["year"], paper.metadata["doi"]) == (2023, "10.1000/graphs.2023")
    assert related(empty, paper.title, "written_by", "outbound") == {"Ada Morn", "Bo Lund"}
    assert related(empty, paper.title, "cites", "outbound") == {
        "Attention is all you need",
        "Dense passage retrieval for open-domain question answering",
    }


def write_pdf(path: Path) -> None:
    pdf = FPDF()
    pdf.set_font("Helvetica", size=11)
    pdf.add_page()
    for size, text in [
        (18, "Walking Graphs to Find Passages"),
        (11, "Ada Morn, Bo Lund"),
        (9, "Vell University, 2023. doi:10.1000/graphs.2023"),
        (12, "Abstract"),
        (11, "We walk a graph of entities. " * 8 + "The walk builds on personalised PageRank."),
        (12, "1 Introduction"),
        (11, "Passages that answer a question often share no word with it. " * 12),
        (12, "References"),
        (11, "[1] A. Vaswani, N. Shazeer, et al. Attention is all you need. In NIPS, 2017."),
        (
            11,
            "[2] V. Karpukhin and B. Oguz. Dense passage retrieval for open-domain question"
            " answering. In EMNLP, 2020.",
        ),
    ]:
        pdf.set_font_size(size)
        pdf.multi_cell(0, size * 0.6, text, new_x="LMARGIN", new_y="NEXT")
        pdf.ln(3)
    pdf.output(str(path))
