"""The decisions of a subscription: no clock, no disk, no socket."""
