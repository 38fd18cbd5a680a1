"""The documentation as a site of plain files, for a browser without a network: `make docs`, then build/site/index.html.

tree       which files of the project are pages, what each is called on the site, and how one leads to another
markdown   a page of Markdown as HTML, its links turned into those of the site
pages      pages, and the sources that they link to, in the frame that all share
api        the reference of the public API, which pdoc makes from docstrings
links      what a finished site refers to: nothing that is missing, nothing that is loaded from elsewhere
build      all of it into a new directory, which takes the place of the old one when nothing is wrong
"""
