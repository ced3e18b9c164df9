"""Model files for Clew; `clew.models.locate` finds them in this folder."""
