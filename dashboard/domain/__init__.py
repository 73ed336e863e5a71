"""The rules of the product, pure and on the standard library only: the clock, chance and storage are arguments."""
