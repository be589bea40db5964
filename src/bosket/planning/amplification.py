"""Parameters from an amplification, and the other way round: FRAPP (Agrawal, Haritsa and Prakash 2009)."""

from __future__ import annotations

import math

from bosket.checks import check_between, check_integer, check_real
from bosket.data import Domain
from bosket.errors import ParameterError
from bosket.mechanisms import CutAndPaste
from bosket.statistics.roots import root

_LEAST = 1e-9


def gamma_from(prior: float, posterior: float) -> float:
    """The amplification below which no property of at most this prior reaches this posterior (Eq. 2).

    rho2 (1 - rho1) / (rho1 (1 - rho2)); the same one keeps a property of at least ``posterior`` from falling to
    ``prior``.

    >>> round(gamma_from(0.05, 0.5), 6)
    19.0
    """
    rho1 = check_between("prior", prior, 0, 1)
    rho2 = check_between("posterior", posterior, 0, 1)
    if rho2 <= rho1:
        raise ParameterError(
            f"The 'posterior' parameter must be above the prior, got {rho2:g} and {rho1:g}.",
            parameter="posterior",
            value=posterior,
        )
    return rho2 * (1 - rho1) / (rho1 * (1 - rho2))


def records_for(error: float, probability: float = 0.95) -> int:
    """How many records make a share of reports lie within ``error`` of its mean with this probability (Eq. 16).

    Hoeffding: ln(2 / (1 - probability)) / (2 error^2).  It is about reports; estimates divide by the channel's keep.

    >>> records_for(0.001, 0.95)
    1844440
    """
    delta = check_between("error", error, 0, 1)
    level = check_between("probability", probability, 0, 1)
    if delta < 1e-9:
        raise ParameterError(
            f"The 'error' parameter must be at least 1e-9, got {error:g}.", parameter="error", value=error
        )
    return math.ceil(math.log(2 / (1 - level)) / (2 * delta**2))


def mask_keep(gamma: float, n_attributes: int) -> float:
    """The highest keep of Flip on a one-hot table of ``n_attributes`` attributes whose amplification is at most gamma.

    Two records differ in at most 2 M bits: (p / (1 - p))^(2 M) = gamma.

    >>> round(mask_keep(19, 6), 3), round(mask_keep(19, 7), 3)
    (0.561, 0.552)
    """
    log_gamma = math.log(_above_one(gamma))
    m = check_integer("n_attributes", n_attributes, least=1)
    return 1.0 / (1.0 + math.exp(-log_gamma / (2 * m)))


def cut_and_paste_insert(gamma: float, cutoff: int, size: int, n_items: int) -> float:
    """The smallest insert of CutAndPaste whose amplification over records of this size is at most gamma.

    By the exact amplification: the paper's 0.494 for K = 3, six items out of 23, gives 15.4.

    >>> round(cut_and_paste_insert(19, 3, 6, 23), 4)
    0.4514
    """
    limit = math.log(_above_one(gamma))
    check_integer("size", size, least=1)
    domain = Domain(range(check_integer("n_items", n_items, least=size + 1)))

    def excess(rho: float) -> float:
        return CutAndPaste(cutoff, rho).channel(domain).amplification(size)[1] - limit

    if excess(_LEAST) <= 0:
        return _LEAST  # never 0, which would promise nothing
    if excess(1 - _LEAST) > 0:
        raise ParameterError(
            f"The 'gamma' parameter must be larger: with a cutoff of {cutoff} no insert has {gamma:g}.",
            parameter="gamma",
            value=gamma,
        )
    rho = root(excess, _LEAST, 1 - _LEAST, xtol=1e-13)
    while excess(rho) > 0:
        rho += 1e-12
    return rho


def cut_and_paste_for(gamma: float, size: int, n_items: int, *, itemset_size: int = 2) -> CutAndPaste:
    """The cutoff and insert of at most this amplification that estimate itemsets of this size best.

    Every cutoff from itemset_size to the size of records is tried with its smallest insert; the best is the one with
    the lowest variance for a record that has none of the items, as most have.

    >>> cut_and_paste_for(19, 6, 23, itemset_size=2)
    CutAndPaste(cutoff=6, insert=0.754562)
    """
    check_integer("size", size, least=1)
    k = check_integer("itemset_size", itemset_size, least=1, most=size)
    domain = Domain(range(n_items))
    choices = []
    for cutoff in range(k, size + 1):
        mechanism = CutAndPaste(cutoff, cut_and_paste_insert(gamma, cutoff, size, n_items))
        noise = mechanism.channel(domain).record_variances_by_overlap(k, size)[0]
        choices.append((float(noise), cutoff, mechanism))
    return min(choices, key=lambda choice: choice[:2])[2]


def _above_one(gamma: float) -> float:
    if check_real("gamma", gamma) <= 1:
        raise ParameterError(f"The 'gamma' parameter must be above 1, got {gamma:g}.", parameter="gamma", value=gamma)
    return float(gamma)
