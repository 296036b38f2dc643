"""GCN and CDNA machine code, executed."""
