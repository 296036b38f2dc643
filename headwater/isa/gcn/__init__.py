"""GCN, the instruction set of AMD's GPUs from Southern Islands (gfx6) to CDNA4 (gfx950)."""
