"""Benchmarks: how many operations workers drain, and how many messages a relay publishes, on this machine.

Each fills a scratch database, runs the product's own commands as processes beside it, and counts what happened.
"""
