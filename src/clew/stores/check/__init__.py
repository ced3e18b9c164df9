"""What must hold in a store, and how it is mended."""
