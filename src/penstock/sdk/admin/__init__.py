"""The admin client: `client` has `Admin`, `async_client` its twin, the other files their parts."""
