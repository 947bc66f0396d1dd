"""RunConfig: everything that a config file says about one run, and the twin it describes."""
