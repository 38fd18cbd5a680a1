"""The documentation as a site of plain files, for a browser without a network: `make docs`, then build/site/index.html.

tree       the files of the project that are pages, their names on the site, and the links between them
markdown   a page of Markdown as HTML, its links turned into those of the site
pages      pages, and the sources that they link to, in the common frame
api        the reference of the public API, which pdoc makes from docstrings
links      the check of a finished site: nothing is missing, nothing is loaded from elsewhere
build      the whole site in a new directory, which replaces the old one if nothing is wrong
"""
