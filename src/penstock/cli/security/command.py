"""`penstock security`: each subject (acl, user, …) has a file of its own and is added here."""

from __future__ import annotations

import typer

from penstock.cli.security import acl, token, user
from penstock.cli.security.certificate import certificate
from penstock.cli.security.connections import connections, disconnect
from penstock.cli.security.init import init
from penstock.cli.security.revoke import revoke

app = typer.Typer(no_args_is_help=True, help="Manage who may connect and who may do what.")
app.add_typer(acl.app, name="acl")
app.add_typer(token.app, name="token")
app.add_typer(user.app, name="user")
app.command()(init)
app.command()(certificate)
app.command()(revoke)
app.command()(connections)
app.command()(disconnect)
