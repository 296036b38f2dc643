"""A kernel's own IR before it is vectorised: rewritten so that less has to be done lane by lane."""
