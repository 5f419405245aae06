"""A certified OpenID Connect provider, run on this machine for the tests: see `run`."""
