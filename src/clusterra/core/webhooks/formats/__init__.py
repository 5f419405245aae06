"""What a message looks like in Slack, in Teams, as a dispatch on GitHub and as an e-mail."""
