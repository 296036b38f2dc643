"""Input: streams and arrays. Output: pictures of them in files, notebooks, terminals and windows."""
