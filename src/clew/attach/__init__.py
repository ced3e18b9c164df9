"""Searching a Neo4j graph that Clew did not make; nothing is ever written to it."""
