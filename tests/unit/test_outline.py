from __future__ import annotations

import pytest

from clew.errors import InputError
from clew.query.outline import Hierarchy, Step, parse_hierarchy


@pytest.mark.parametrize(
    "text",
    [
        "person -works_at-> organisation <-owns- organisation",
        "person-works_at->organisation<-owns-organisation",
        "  person  - works_at ->  organisation <- owns -  organisation  ",
    ],
)
def test_a_hierarchy_is_types_and_the_relations_between_them(text: str) -> None:
    assert parse_hierarchy(text) == Hierarchy(
        ("person", "organisation", "organisation"),
        (Step("works_at", True), Step("owns", False)),
    )


@pytest.mark.parametrize(
    "text",
    ["", "person", "person -works_at->", "person works_at organisation", "-> a", "a -b-> c d"],
)
def test_what_is_no_hierarchy_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="cannot read the hierarchy"):
        parse_hierarchy(text)
