"""The screens: each module parses a request, calls one service or query, and renders or redirects."""
