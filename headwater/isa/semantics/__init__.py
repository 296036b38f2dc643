"""The language in which the instruction tables of both families say what instructions do."""
