"""The application over HTTP: routes, bodies, cursors of pages, problems."""
