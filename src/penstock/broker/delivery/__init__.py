"""Delivery to push clients: subscriptions, their members, their positions.

`core` decides without clock, disk or socket; `reading` turns records of a log into items to be sent; the files of this
folder drive both.
"""
