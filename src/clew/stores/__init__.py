"""Where documents, the graph and vectors are kept: one adapter for each back end."""
