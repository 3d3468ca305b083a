"""How many machines a number of games takes: arithmetic on measured figures, and a simulation that checks it."""
