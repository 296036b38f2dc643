"""GCN machine code, executed: translated to this machine's code, or interpreted one instruction at a time."""
