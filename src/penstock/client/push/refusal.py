"""Errors that another attempt to connect would have as well: somebody has to change logins or properties first."""

from __future__ import annotations

from penstock.client.push.errors import LoginFailed, WrongProtocol
from penstock.client.security.properties import SecurityProblem
from penstock.client.security.tls_problem import tls_problem


def is_refusal(error: BaseException) -> bool:
    """Whether the broker does not let this client in, or is not trusted; False if it is away."""
    if isinstance(error, LoginFailed | WrongProtocol):
        return True
    cause = error.__cause__
    return cause is not None and (isinstance(cause, SecurityProblem) or tls_problem(cause) is not None)
