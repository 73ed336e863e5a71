"""What talks to the outside: probes ask destinations, sinks publish. One file a kind; copy a neighbour to add one."""
