"""Relations that the structure of a document states, beside what its sentences say."""
