"""The diagrams of the documentation: docs/diagrams/*.toml say what is in them and where, the SVG files beside them are
drawn from that. They need nothing but a browser: no script, no font, no network.

    source     a diagram as its TOML file describes it, checked
    geometry   how arrows run between boxes
    drawing    the SVG

    python -m tools.diagrams           draw all
    python -m tools.diagrams --check   fail if an SVG is not what its source says

A unit is 10 pixels. In a source:

    title = "The parts of a node"     what the picture shows, for those who cannot see it
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
    at = 38                           the x or y of a straight arrow, instead of the middle of what both share
    label_at = [60, 30]               the middle of the label, instead of that of the longest piece
    both = true                       a point at either end
"""
