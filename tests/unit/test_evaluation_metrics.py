from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import MissingExtraError
from clew.evaluation.run import all_gold, mean_scores, measure_names, score_rankings

KS = (1, 2, 5)
PASSAGES = [f"p{i}" for i in range(14)]


def recall(ranking: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    gold = [passage for passage, grade in grades.items() if grade > 0]
    return sum(passage in ranking[:k] for passage in gold) / len(gold)


def ndcg(ranking: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    def dcg(gains: Sequence[int]) -> float:
        return sum(max(gain, 0) / log2(i + 2) for i, gain in enumerate(gains[:k]))

    ideal = dcg(sorted(grades.values(), reverse=True))
    return dcg([grades.get(passage, 0) for passage in ranking]) / ideal


def reciprocal_rank(ranking: Sequence[str], grades: Mapping[str, int]) -> float:
    ranks = [i for i, passage in enumerate(ranking, start=1) if grades.get(passage, 0) > 0]
    return 1 / ranks[0] if ranks else 0.0


rankings = st.lists(st.sampled_from(PASSAGES), unique=True, max_size=14)
judgements = st.dictionaries(
    st.sampled_from([*PASSAGES, "not in the corpus"]), st.integers(0, 3), min_size=1
).filter(lambda grades: any(grades.values()))


@given(st.lists(st.tuples(rankings, judgements), min_size=1, max_size=4))
def test_measures_agree_with_their_definitions(
    questions: list[tuple[list[str], dict[str, int]]],
) -> None:
    asked = {f"q{i}": question for i, question in enumerate(questions)}

    scores = score_rankings(
        {id_: ranking for id_, (ranking, _) in asked.items()},
        {id_: grades for id_, (_, grades) in asked.items()},
        KS,
    )

    for id_, (ranking, grades) in asked.items():
        expected = {f"recall@{k}": recall(ranking, grades, k) for k in KS}
        expected["all@5"] = float(recall(ranking, grades, 5) == 1)
        expected["ndcg@10"] = ndcg(ranking, grades, 10)
        expected["mrr"] = reciprocal_rank(ranking, grades)
        assert scores[id_] == pytest.approx(expected)


def test_values_by_hand() -> None:
    scores = score_rankings({"q": ["a", "x", "b"]}, {"q": {"a": 2, "b": 1, "x": 0}}, (1, 2, 5))

    assert scores["q"] == pytest.approx(
        {
            "recall@1": 0.5,
            "recall@2": 0.5,
            "recall@5": 1.0,
            "all@5": 1.0,
            # (2 + 1 / log2 4) / (2 + 1 / log2 3)
            "ndcg@10": 2.5 / (2 + 1 / log2(3)),
            "mrr": 1.0,
        }
    )


def test_all_gold_needs_every_passage() -> None:
    grades = {"a": 1, "b": 1, "c": 0}

    assert all_gold(["a", "x", "y", "z", "b"], grades, 5) == 1.0
    assert all_gold(["a", "x", "y", "z", "w", "b"], grades, 5) == 0.0


def test_means_and_names() -> None:
    first = dict.fromkeys(measure_names(KS), 1.0)
    second = dict.fromkeys(measure_names(KS), 0.0)

    means = mean_scores([first, second, second, first])

    assert means == dict.fromkeys(
        ["recall@1", "recall@2", "recall@5", "all@5", "ndcg@10", "mrr"], 0.5
    )


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)

    with pytest.raises(MissingExtraError, match=r"pip install 'clew\[eval\]'"):
        score_rankings({"q": ["a"]}, {"q": {"a": 1}}, KS)
