"""The pages of README.md, docs/ and examples/, run as a reader would who follows them one after the other."""
