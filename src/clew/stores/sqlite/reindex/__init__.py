"""Making documents again beside the store, and switching to them at once."""
