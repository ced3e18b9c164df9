"""The commands, by what a person wants: to index, to ask, to look, to put right, to keep up."""
