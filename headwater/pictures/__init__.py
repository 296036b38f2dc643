"""Streams and arrays pass in; pictures of them in files, notebooks, terminals and windows pass out."""
