"""The read side: what screens show, within the grants of who looks."""
