"""Subscriptions of the push door: who has got which message, what is done, what has to be sent again."""
