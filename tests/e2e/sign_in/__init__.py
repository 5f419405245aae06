"""People sign in: a real browser, a real terminal, a real server, a certified provider.

Signing in needs no Slurm, so none runs here; and so nothing here differs between the kinds of
cluster that the rest of the end-to-end tests meet.
"""
