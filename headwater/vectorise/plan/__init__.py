"""How a launch's work-items are laid out in chunks, and what is decided of a chunk's code before it is written."""
