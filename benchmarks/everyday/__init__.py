"""Eight folders of ordinary people's files, with what their owners ask; see `__main__`."""
