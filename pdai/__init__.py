"""The front: train samplers from Python or the command line, and know how right they are."""
