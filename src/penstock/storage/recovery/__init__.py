"""From files to a log: recovery points, torn tails, verification, repair, the scrub."""
