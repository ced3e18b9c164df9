from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import ISOLATION

# The suites explain a failed assertion as well as tests of this folder do.
pytest.register_assert_rewrite("clew.testing.conformance", "tests.contract.suites")


@pytest.fixture(scope="module", autouse=True)
def _read_in_this_process() -> Iterator[None]:
    """These tests are about other things, and a worker for each of their engines takes a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ISOLATION, "none")
        yield
