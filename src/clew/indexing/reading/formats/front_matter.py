"""Front matter: the block of YAML (`---`) or TOML (`+++`) before a Markdown text."""

from __future__ import annotations

import logging
import re
import tomllib
from typing import Any

import yaml

_log = logging.getLogger(__name__)
_BLOCK = re.compile(
    r"\A\ufeff?(?P<mark>---|\+\+\+)[ \t]*\n(?P<block>.*?)^(?:(?P=mark)|\.\.\.)[ \t]*(?:\n|\Z)",
    re.M | re.S,
)
_DOTS = 200
"""In a line of TOML, at most: each part of a dotted key costs as much as all before it together."""


class _Loader(yaml.SafeLoader):
    """YAML without aliases, whose expansion can be vast, and with dates left as written.

    A date that cannot be (2024-02-31) would otherwise take the whole block with it.
    """

    yaml_implicit_resolvers = {  # noqa: RUF012 - the name and form that PyYAML gives it
        first: [rule for rule in rules if rule[0] != "tag:yaml.org,2002:timestamp"]
        for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """The next node; an alias is an error."""
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not supported in front matter")
        return super().compose_node(parent, index)


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """The front matter's values and the text after it; no values and all text without any.

    A block that cannot be parsed stays a part of the text, so that nothing is lost.
    """
    match = _BLOCK.match(text)
    if match is None:
        return {}, text
    try:
        values = _parse(match["mark"], match["block"])
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        _log.info("front matter left in the text: %s", error)
        return {}, text
    if not isinstance(values, dict):
        # Text between two rules, or an empty block.
        return {}, text if values is not None else text[match.end() :].lstrip("\n")
    return values, text[match.end() :].lstrip("\n")


def _parse(mark: str, block: str) -> object:
    if mark == "+++":
        if max(line.count(".") for line in block.split("\n")) > _DOTS:
            raise ValueError(f"a line has more than {_DOTS} dots")
        return tomllib.loads(block)
    loader = _Loader(block)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()
