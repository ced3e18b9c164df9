"""Training and judging the ranker that ships with the package; see README.md."""
