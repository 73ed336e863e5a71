"""What both edges for others - the screens and the API - share: who asks, who may, and how a query string is read."""
