"""How programs that know nothing of Headwater reach it: a C library in their process, a server of ours beside it."""
