"""Use cases: each authorises, changes and audits; they flush and never commit."""
