"""The explorer: pages to ask, to look at the graph and to put it right, and a JSON API."""
