"""The ledger under kill −9, at every moment that has a name."""
