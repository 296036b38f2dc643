"""Input: streams. Output: results on their device: products, factorizations, transforms and functions of elements."""
