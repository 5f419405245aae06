"""The published verifiers of Standard Webhooks, held against what we sign."""
