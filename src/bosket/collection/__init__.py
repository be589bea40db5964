"""Collections: reports that keep coming, mined at the cost of what is new."""

from bosket.collection.collection import Collection

__all__ = ["Collection"]
