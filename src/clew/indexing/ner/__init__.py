"""Named entity recognition without a language model: names, their types, coreference."""
