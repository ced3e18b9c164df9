"""Readers, one file a family of formats; each turns a `RawFile` into a `ReadResult`."""
