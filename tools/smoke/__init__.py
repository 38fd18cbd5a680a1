"""The smoke test of a wheel: installed into an empty environment, does it serve?

    environment   a virtual environment with the wheel and what it names as its dependencies, and nothing else
    service       the installed `penstock serve`, as a process of its own
    checks        what must work, one after the other

    python -m tools.smoke                 the wheel in dist/
    python -m tools.smoke WHEEL

Nothing of the clone is on the path of what runs, so a file or a dependency that the wheel lacks is missed here.
"""
