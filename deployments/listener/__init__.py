"""The sockets of game cores: one port, told apart by the first bytes, a file for each protocol."""
