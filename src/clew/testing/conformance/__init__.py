"""What stores and indexes must do, as test classes: derive from each, and give it your store.

    class TestMyDocuments(DocumentStoreSuite):
        @pytest.fixture
        def store(self, tmp_path):
            return MyStore(tmp_path, embedder=EMBEDDER, functional=FUNCTIONAL)

Each test says one thing that `clew.ports` promises, checked against plain Python.
"""

from clew.testing.conformance.documents import DocumentStoreSuite
from clew.testing.conformance.search import KeywordIndexSuite, VectorIndexSuite

__all__ = [
    "DocumentStoreSuite",
    "KeywordIndexSuite",
    "VectorIndexSuite",
]
