"""The ring as a discrete-event simulation: sampled replicas tick by tick, and all nodes push by push."""
