"""The budget of a data set in the central model: accounts, the ledger that keeps them, and who may open it."""

from bosket.budget.budgets import Budget

__all__ = ["Budget"]
