"""What every other package may use: the cache, arrays, facts about this machine, writing files whole."""
