"""The smoke test of a wheel: it is installed into an empty environment and must serve.

    environment   a virtual environment with the wheel and its dependencies, and nothing else
    service       the installed `penstock serve`, as a process of its own
    checks        the checks, one after the other
    spark         the wheel penstock-spark, in a session of PySpark

    python -m tools.smoke                 the wheel in dist/
    python -m tools.smoke WHEEL

Nothing of the clone is on the import path, so a file or a dependency that the wheel lacks is noticed here.
"""
