"""Simulated GCN and CDNA chips."""
