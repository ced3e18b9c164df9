"""Stores in a folder of this machine, each one SQLite file."""
