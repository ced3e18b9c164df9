from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from clew.errors import InputError
from clew.search.options import Options
from clew.types import Period

NOW = datetime(2024, 1, 1, tzinfo=UTC)


def _options(**values: object) -> Options:
    defaults: dict[str, Any] = {"strategy": "graph", "limit": 10, "max_tokens": 100, "now": NOW}
    return Options(**{**defaults, **values})


def test_equal_options_are_equal_and_can_be_keys() -> None:
    assert _options(max_hops=3) == _options(max_hops=3)
    assert len({_options(), _options(), _options(limit=5)}) == 2


def test_a_period_given_by_hand_may_be_open() -> None:
    assert _options().period is None
    assert _options(since=NOW).period == Period(start=NOW, end=None)
    assert _options(until=NOW).period == Period(start=None, end=NOW)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"limit": 0}, r"limit 0 cannot be; expected at least 1"),
        ({"max_tokens": 0}, r"max_tokens 0 cannot be"),
        ({"max_hops": 6}, r"max_hops 6 cannot be; expected 1 to 5"),
        ({"alpha": 1.5}, r"alpha 1.5 cannot be; expected 0 to 1"),
        ({"min_confidence": float("nan")}, r"min_confidence nan cannot be; expected 0 to 1"),
        ({"weights": (float("nan"), 0, 0)}, r"weights nan cannot be; expected at least 0"),
        ({"level": -1}, r"level -1 cannot be"),
        ({"weights": (0.5, -0.1, 0.6)}, r"weights -0.1 cannot be"),
        ({"since": NOW, "until": NOW}, r"is not before until"),
    ],
)
def test_values_that_cannot_be_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        _options(**values)


def test_an_alpha_of_nothing_is_legal() -> None:
    assert _options(alpha=0.0).alpha == 0.0
