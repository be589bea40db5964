"""Other people's miners under the same rules: one epsilon for all that looks at records, discrete exact noise."""

from bosket.research.rivals import bhaskar, diffpart, privbasis, untruncated
from bosket.research.rivals.base import Rival

__all__ = ["Rival", "bhaskar", "diffpart", "privbasis", "untruncated"]
