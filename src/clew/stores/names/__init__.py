"""Names: aliases and the entities that they name; merge and split."""
