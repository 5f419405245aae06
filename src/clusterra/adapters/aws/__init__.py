"""What every part that speaks to AWS shares: who asks, how it is signed, and the asking itself."""
