"""The consumer framework: classes and functions that handle the messages of a topic, marked with decorators.

    decorators   @consumer, @message_handler, @error_handler, @retry_policy
    payloads     what a handler is given, by the annotation of its parameter
    definition   a marked class or function, checked and ready to be called
    discovery    the definitions of a module
    lane         the core: one partition of one consumer, its order and its retries, without I/O
    runner       the driver: subscribes over the push protocol, calls, acknowledges, writes dead letters
    hosted       a runner in a thread of its own, beside a broker

Like every client it reaches a broker only over its wire.
"""
