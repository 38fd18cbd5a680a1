"""The consumer application: a copy of a topic near those who read it, which answers while the broker is away.

    settings      flags, variables, defaults
    application   composition: store, handlers, feed, REST; up in order, down in reverse
    feed          the push connection: messages are stored, handled, acknowledged; RESET and READY
    store         the log engine with one log a generation, and which generation is read (`state`)
    generation    one log and its SQLite index (`index`, `catching_up`); every source offset once
    reading       pages of messages, cursors
    api           REST
    handlers      the handler that CONSUMER_TYPE names

It reaches the broker only over its wire. The log engine is its own: `storage`, in a directory of its own.
"""
