"""DescribeUserScramCredentials, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict

class UserName:
    name: str

class DescribeUserScramCredentialsRequest:
    users: tuple[UserName, ...] | None

class UserNameValues(TypedDict, total=False):
    name: str

class DescribeUserScramCredentialsRequestValues(TypedDict, total=False):
    users: Sequence[UserNameValues] | None
