"""The API for programs, `/api/v1`: each module reads a request, calls one query or service, and answers JSON.

It is an application of its own beside the screens: bearer tokens instead of sessions, `application/problem+json`
instead of pages. Every view carries a mark (who may call it) and a description (what goes in and comes out), from which
`document.py` makes the OpenAPI document.
"""
