"""Streams in, results on their device out: products, factorizations, transforms and functions of elements."""
