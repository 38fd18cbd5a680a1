"""The diagrams of the documentation, drawn as SVG files from the TOML files beside them in docs/diagrams. They need
nothing but a browser: no script, no font, no network.

    source      a diagram as its TOML file describes it, checked
    geometry    the routes of arrows between boxes
    collisions  arrows and labels that run over boxes
    drawing     the SVG

    python -m tools.diagrams           draw all
    python -m tools.diagrams --check   fail if an SVG is out of date

A unit is 10 pixels. In a source:

    title = "The parts of a node"     a description for screen readers
    size = [96, 47]

    [[box]]
    id = "disk"                       for arrows
    at = [70, 33]                     left, top
    size = [22, 10]                   width, height
    kind = "disk"                     outside, part, process, disk, state, point, or frame: a box around others
    title = "disk"
    lines = ["the log", "meta.db"]

    [[arrow]]
    from = "flush"
    to = "disk"
    label = "one sync"                optional, like all that follow
    via = [[60, 40], [60, 20]]        bends; without them the boxes must face each other
    at = 38                           the x or y of a straight arrow, instead of the middle of the shared range
    label_at = [60, 30]               the middle of the label, instead of that of the longest piece
    both = true                       an arrowhead at either end
"""
