"""Webhooks on their way: HTTP to addresses that others have chosen."""

from clusterra.adapters.sender.sender import HttpSender as HttpSender
