"""Coverage-guided fuzzing of everything that reads bytes of others: `make fuzz`, see docs/testing.md.

`targets.py` lists the targets, one file each; a target is a function of bytes that raises when something is wrong, and
runs without atheris, too: `test_replay.py` gives every target its seeds and the inputs that once made it fail.
"""
