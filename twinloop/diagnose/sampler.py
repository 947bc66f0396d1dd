"""Sampler: draws explanations (`explanations.py` has the model) from their posterior.

Each gap is open with the same prior probability; several rows of an open gap may be wrong, and one is the most probable
number. Samples are drawn by Gibbs sampling over causes, with moves that replace one cause by another, and moves that
draw two causes together: delays of actions and of observations change the same traits, so that only their sum is known,
and single draws would stay at one of the two.
"""

import numpy as np

from twinloop.diagnose.emulator import Emulator, addends, sum_of
from twinloop.diagnose.events import coincidences, own_evidence, showing
from twinloop.diagnose.explanations import Explanations, Observed, stress_of
from twinloop.diagnose.likelihood import EXPLAINED_SHARE, EntryLikelihood
from twinloop.diagnose.summary import ENTRIES, LOGARITHMIC, OUTCOMES
from twinloop.randomize.parameter import GAPS

OPEN = 0.3
"""Prior probability that a gap is open. Every robot differs from its twin somewhere."""
ANOTHER = 0.5
"""Prior probability that a further cause of an open gap holds."""
UNMODELLED = 0.3
"""Prior probability that something unmodelled is present."""
AFFECTED = (0.0, 0.03, 0.1)
"""Shares of the entries that something unmodelled may change. It must not explain a trait more easily than a row does
that is made for it, so the shares are small."""
LOSSES = (0.0, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97)
"""Shares of success that something unmodelled may cost."""
EFFECTS = np.array([(share, loss) for share in AFFECTED for loss in LOSSES if share or loss])
"""(effects, 2) share of changed entries and cost of the unmodelled effects that are considered."""
VISIBLE = 5.0
"""A cause that costs success must change other traits by this many standard deviations together. Otherwise the log has
no evidence for it, and it cannot be told from something unmodelled."""
EVIDENT = 3.0
"""Least log-likelihood ratio for an event in single episodes: what the event traits of its gap show, and whether these
episodes fail."""
COSTLY_SHARE = 0.98
ENGINE_SCALES = 2.0 ** np.arange(-2.0, 2.5, 0.5)
"""Scales of the standard deviation between engines that are considered."""
ENGINE_SCALE_DEVIATION = 0.6
"""Standard deviation of the logarithm of the scale, before the log is seen."""
FEW, EXTREME = 0.1, 10.0
"""Share of the entries that may be extreme whatever the scale is, and the standard deviations that they reach."""
CHAINS, WARM_UP, SWEEPS = 10, 50, 70
PAIRS = 6  # pairs of causes that are drawn together in each sweep
SCANNED = 15  # sweeps over all causes, after which improbable causes are drawn less often
IMPROBABLE, SELDOM = 0.003, 0.15
"""A cause with a probability below the first value is drawn in this share of the later sweeps."""
FORGOTTEN = 0.7  # weight of a cause's earlier probability when it is drawn again
BEHIND = 8.0
"""Log-probability below the best chain from which a chain is restarted during warm-up."""


def explanations_of(emulator: Emulator, observed: Observed, *, seed: int) -> Explanations:
    """Draw explanations of what the robot shows."""
    return _Sampler(emulator, observed, np.random.default_rng(seed)).run()


class _Sampler:
    """Chains with their states.

    Attributes:
        index: (chains, C) place of the size of each cause in the grid.
        total, spare: (chains, entries) sum of the changes (`emulator.addends`), and variance that they add.
        share, stress: (chains,) success as a share of the unchanged twin's, and stress of all causes together.
        affected, loss, unmodelled: (chains,) the unmodelled effect, if there is one.
        scale: (chains,) place of the scale of the spread between engines.
        noise: (chains, entries) variance of the entries at this scale, without that of the causes; of event traits, the
            variance of their rate.
        probability: (C,) highest recent probability in any chain that a cause holds; set while `learns`.
    """

    def __init__(self, emulator: Emulator, observed: Observed, rng: np.random.Generator):
        self.emulator, self.observed, self.rng = emulator, observed, rng
        self.entries = EntryLikelihood(emulator, observed)
        known = self.entries.places
        self.variance, self.noises = self.entries.variance, self.entries.noise(ENGINE_SCALES)
        logs = np.log(ENGINE_SCALES) / ENGINE_SCALE_DEVIATION
        self.scale_prior = -0.5 * np.square(logs)
        changes, unknown = emulator.changes[:, :, known], emulator.unknown[:, :, known]
        self.changes = addends(changes, LOGARITHMIC[known])
        self.added = (
            np.square(emulator.bend[known] * changes)
            + emulator.error[:, :, known]
            + np.where(unknown, self.entries.outlier(self.variance), 0.0)
        )
        self.success, self.stresses = emulator.success, stress_of(emulator, observed.events)
        self.gap_of = np.array([GAPS.index(gap) for gap in emulator.gaps])
        self.coincidence = coincidences(emulator, observed.events).evidence
        self.hidden = self._hidden(changes, OUTCOMES[known])
        self.outcome_at = self._outcomes()
        effect = np.abs(changes).max(axis=1) / np.sqrt(self.variance)
        # Causes without any effect on this policy would only repeat the prior.
        self.seen = np.flatnonzero((effect > 1).any(axis=1) | (emulator.success.min(axis=1) < COSTLY_SHARE))
        self.odds = self._count_odds()
        self.entries.unmodelled_share[self._explained()] = EXPLAINED_SHARE
        self.pairs, self.pair_chances = self._similar_pairs(changes)
        count = len(emulator.causes)
        self.index = np.zeros((CHAINS, count), int)
        self.probability, self.learns = np.zeros(count), True
        self.total = np.zeros((CHAINS, len(self.variance)))
        self.spare = np.zeros_like(self.total)
        self.share, self.stress = np.ones(CHAINS), np.zeros(CHAINS)
        self.extra = np.zeros(CHAINS, bool)
        self.scale = np.full(CHAINS, len(ENGINE_SCALES) // 2)
        self.noise = self.noises[self.scale]
        self.affected = np.zeros(CHAINS)
        self.loss = np.zeros(CHAINS)
        self.unmodelled = np.zeros(CHAINS, bool)

    def _hidden(self, changes: np.ndarray, outcomes: np.ndarray) -> np.ndarray:
        """(C, 1 + grid) 0 or -inf: sizes that are left out, because the log could not show them.

        A size that costs success must change traits other than outcomes. An event that occurs in a share of the
        episodes must change traits of its own gap: whatever else it changes, another cause can change too. If traits
        show single events, these episodes are the evidence.
        """
        # Shared errors are part of a model without measured engines, whose usual spread would hide everything.
        clear = np.square(changes) / (self.variance if self.observed.shared is None else self.noises[0])
        hidden = (clear[:, :, ~outcomes].sum(axis=2) < VISIBLE**2) & (self.emulator.success < COSTLY_SHARE)
        about = [ENTRIES[place].about.gap for place in self.entries.places]
        for place, cause in enumerate(self.emulator.causes):
            shown = showing(self.emulator, place, self.observed.events)
            if shown.any():
                evidence = own_evidence(self.emulator, place, self.observed.events, shown)
                hidden[place] = evidence + self.coincidence[place] < EVIDENT
            elif cause.side == "share":
                own = np.array([gap == cause.gap for gap in about])
                hidden[place] = clear[place][:, own].sum(axis=1) < VISIBLE**2
        hidden[:, 0] = False
        return np.where(hidden, -np.inf, 0.0)

    def _explained(self) -> np.ndarray:
        """(entries,) clear entries that a single cause explains, at a size that the log can show."""
        shown = ~np.isneginf(self.hidden[self.seen])[..., None]
        noise = self.noises[len(self.noises) // 2]
        return self.entries.explained(shown * self.changes[self.seen], noise + shown * self.added[self.seen])

    def _similar_pairs(self, changes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """((n, 2) pairs of causes that change the same traits, and as the log shows, (n,) how often each is drawn)."""
        clear = changes[self.seen, changes.shape[1] // 3] / np.sqrt(self.variance)
        clear /= np.maximum(np.linalg.norm(clear, axis=1, keepdims=True), 1e-9)
        alone = self.entries.fit(
            self.changes[self.seen], self.added[self.seen] + self.noises[len(self.noises) // 2], 0.0
        )
        gain = np.maximum(alone.max(axis=1) - alone[:, 0], 0.0) + 0.1
        weights = np.triu(np.abs(clear @ clear.T) ** 4 * np.outer(gain, gain), k=1)
        first, second = np.nonzero(weights > 1e-9)
        chances = weights[first, second]
        return np.column_stack([self.seen[first], self.seen[second]]), chances / max(chances.sum(), 1e-300)

    def _count_odds(self) -> np.ndarray:
        """(gaps, 1 + C) log-odds that one more cause of a gap holds at one size of the grid, if 0 to C others hold.

        An open gap has k causes with a probability in proportion to `ANOTHER`**k, and all sets of k causes are equally
        probable. Causes that change nothing of this policy have no part of the prior: they would only make the visible
        ones less probable.
        """
        visible = np.maximum(np.bincount(self.gap_of[self.seen], minlength=len(GAPS)), 1)[:, None]
        held = np.arange(len(self.gap_of) + 1)
        first = OPEN / (1 - OPEN) * (1 - ANOTHER) / visible
        further = ANOTHER * (held + 1) / np.maximum(visible - held, 1)
        return np.log(np.where(held == 0, first, further) / (self.changes.shape[1] - 1))

    def _odds(self, others: np.ndarray, gap: np.ndarray | int) -> np.ndarray:
        """Log-odds that a cause holds at one size of the grid, given how many other causes of its gap hold."""
        return self.odds[gap, others]

    def _outcomes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Shares of the twin's success, and log-likelihoods of the robot's successes: without and with more loss."""
        from scipy.special import betaln, logsumexp

        def at(share: np.ndarray) -> np.ndarray:
            mean = np.clip(self.emulator.usual_success * share, 0.01, 0.99)
            a, b = self.emulator.concentration * mean, self.emulator.concentration * (1 - mean)
            k, n = self.observed.successes, self.observed.episodes
            return betaln(k + a, n - k + b) - betaln(a, b)

        shares, losses = np.linspace(0.0, 1.0, 101), np.array(LOSSES[1:])
        lower = logsumexp(at(shares[:, None] * (1 - losses)), axis=1) - np.log(len(losses))
        return shares, at(shares), lower

    def run(self) -> Explanations:
        kept: list[tuple[np.ndarray, ...]] = []
        for sweep in range(WARM_UP + SWEEPS):
            scanned = self._scanned(sweep)
            for cause in scanned:
                self._draw_size(int(cause))
            for chain in range(CHAINS):
                self._replace_one(chain, scanned)
            for pair in self.rng.choice(len(self.pairs), PAIRS, p=self.pair_chances) if len(self.pairs) else ():
                self._draw_pair(*map(int, self.pairs[pair]))
            self._draw_scale()
            posterior = self._draw_unmodelled()
            if sweep in (WARM_UP // 2, WARM_UP - 1):
                self._restart_behind(posterior)
            if sweep >= WARM_UP:
                state = self.index, self.unmodelled, self.loss, self.extra, posterior
                kept.append(tuple(part.copy() for part in (*state, ENGINE_SCALES[self.scale])))
        index, *others = (np.concatenate(parts) for parts in zip(*kept, strict=True))
        return Explanations(self._jittered(index), *others)

    def _scanned(self, sweep: int) -> np.ndarray:
        """The causes that are drawn in a sweep, in random order.

        The frequencies are set during warm-up, so the sampler is a Gibbs sampler with a random scan after it.
        """
        self.learns = sweep < WARM_UP
        if sweep < SCANNED or sweep == WARM_UP - 1:
            return self.rng.permutation(self.seen)
        often = self.probability[self.seen] > IMPROBABLE
        return self.rng.permutation(self.seen[often | (self.rng.random(len(self.seen)) < SELDOM)])

    def _restart_behind(self, posterior: np.ndarray) -> None:
        """Let chains in a much less probable mode continue from the best chain. One move cannot leave every mode."""
        best = int(np.argmax(posterior))
        behind = posterior < posterior[best] - BEHIND
        causes = self.index, self.total, self.spare, self.share, self.stress
        for state in (*causes, self.affected, self.loss, self.unmodelled, self.scale, self.noise):
            state[behind] = state[best]

    def _jittered(self, index: np.ndarray) -> np.ndarray:
        """Sizes between the points of the grid, so that no interval is narrower than the grid."""
        sizes = self.emulator.sizes[np.arange(index.shape[1]), index]
        step = self.emulator.sizes[:, 1]
        return np.where(index > 0, sizes + step * self.rng.uniform(-0.5, 0.5, sizes.shape), 0.0)

    def _outcome(self, share: np.ndarray, stress: np.ndarray, loss: np.ndarray | None) -> np.ndarray:
        """Log-likelihood of the number of successes.

        Args:
            share: success as a share of the unchanged twin's.
            stress: of the causes; they may cost more than in the twin.
            loss: of something unmodelled; None if there is nothing unmodelled.
        """
        shares, plain, lower = self.outcome_at
        if loss is not None:
            return np.interp(share * (1 - loss), shares, plain)
        rest = np.exp(-stress)
        usual, worse = np.interp(share, shares, plain), np.interp(share, shares, lower)
        return np.logaddexp(usual - stress, worse + np.log(np.maximum(1 - rest, 1e-12)))

    def _either(self, share: np.ndarray, stress: np.ndarray, chains: np.ndarray | int) -> np.ndarray:
        """`_outcome` for the unmodelled effect of each chain. The first axis of the arrays is that of `chains`."""
        unmodelled, loss = self.unmodelled[chains], self.loss[chains]
        if np.ndim(chains):
            shape = (-1,) + (1,) * (np.ndim(share) - 1)
            unmodelled, loss = unmodelled.reshape(shape), loss.reshape(shape)
        return np.where(unmodelled, self._outcome(share, stress, loss), self._outcome(share, stress, None))

    def _draw_size(self, cause: int) -> None:
        chains = np.arange(CHAINS)
        now = self.index[:, cause]
        total, spare = self.total - self.changes[cause, now], self.spare - self.added[cause, now]
        share, stress = self.share / self.success[cause, now], self.stress - self.stresses[cause, now]
        log = self.entries.fit(
            total[:, None] + self.changes[cause],
            (self.noise + spare)[:, None] + self.added[cause],
            self.affected[:, None],
        )
        log = log + self._either(share[:, None] * self.success[cause], stress[:, None] + self.stresses[cause], chains)
        others = (self.index[:, self.gap_of == self.gap_of[cause]] > 0).sum(axis=1) - (now > 0)
        log[:, 1:] += self._odds(others, self.gap_of[cause])[:, None] + self.hidden[cause, 1:]
        log += _coinciding(np.maximum(self._coinciding_without([cause])[:, None], self.coincidence[cause]))
        if self.learns:
            nominal = np.exp(log[:, 0] - np.logaddexp.reduce(log, axis=1))
            self.probability[cause] = max(FORGOTTEN * self.probability[cause], 1 - float(nominal.min()))
        new = np.argmax(log + self.rng.gumbel(size=log.shape), axis=1)
        self.index[chains, cause] = new
        self.total, self.spare = total + self.changes[cause, new], spare + self.added[cause, new]
        self.share, self.stress = share * self.success[cause, new], stress + self.stresses[cause, new]

    def _draw_pair(self, one: int, other: int) -> None:
        """Draw the sizes of two causes together, in all chains."""
        chains, pair = np.arange(CHAINS), [one, other]
        now = self.index[:, pair]
        total, spare = self.total - self.changes[pair, now].sum(axis=1), self.spare - self.added[pair, now].sum(axis=1)
        share, stress = (
            self.share / self.success[pair, now].prod(axis=1),
            self.stress - self.stresses[pair, now].sum(axis=1),
        )
        changes, added = (values[one][:, None] + values[other] for values in (self.changes, self.added))
        stresses = self.stresses[one][:, None] + self.stresses[other]
        log = self.entries.fit_each(total, self.noise + spare, changes, added, self.affected)
        shares = self.success[one][:, None] * self.success[other]
        log = log + self._either(share[:, None, None] * shares, stress[:, None, None] + stresses, chains)
        counts = [(self.index[:, self.gap_of == self.gap_of[cause]] > 0).sum(axis=1) for cause in pair]
        same = self.gap_of[one] == self.gap_of[other]
        held = (now > 0).astype(int)
        others = (
            counts[0] - held[:, 0] - (held[:, 1] if same else 0),
            counts[1] - held[:, 1] - (held[:, 0] if same else 0),
        )
        odds = [self._odds(count, self.gap_of[cause]) for count, cause in zip(others, pair, strict=True)]
        second = self._odds(others[1] + 1, self.gap_of[other]) if same else odds[1]
        log[:, 1:, :1] += odds[0][:, None, None]
        log[:, :1, 1:] += odds[1][:, None, None]
        log[:, 1:, 1:] += (odds[0] + second)[:, None, None]
        log += self.hidden[one][:, None] + self.hidden[other]
        both = np.maximum(self.coincidence[one][:, None], self.coincidence[other])
        log += _coinciding(np.maximum(self._coinciding_without(pair)[:, None, None], both))
        flat = log.reshape(CHAINS, -1)
        new = np.stack(
            np.unravel_index(np.argmax(flat + self.rng.gumbel(size=flat.shape), axis=1), log.shape[1:]), axis=1
        )
        self.index[:, pair] = new
        self.total = total + self.changes[pair, new].sum(axis=1)
        self.spare = spare + self.added[pair, new].sum(axis=1)
        self.share, self.stress = (
            share * self.success[pair, new].prod(axis=1),
            stress + self.stresses[pair, new].sum(axis=1),
        )

    def _replace_one(self, chain: int, scanned: np.ndarray) -> None:
        """Replace one of the causes of a chain by another scanned cause that does not hold."""
        active = np.flatnonzero(self.index[chain])
        replaceable = np.intersect1d(active, scanned)
        if not len(replaceable):
            return
        old = int(self.rng.choice(replaceable))
        place = self.index[chain, old]
        total, spare = self.total[chain] - self.changes[old, place], self.spare[chain] - self.added[old, place]
        share = self.share[chain] / self.success[old, place]
        stress = self.stress[chain] - self.stresses[old, place]
        free = scanned[(self.index[chain, scanned] == 0) | (scanned == old)]
        noise = self.noise[chain] + spare
        log = self.entries.fit(total + self.changes[free, 1:], noise + self.added[free, 1:], self.affected[chain])
        log = log + self._either(share * self.success[free, 1:], stress + self.stresses[free, 1:], chain)
        rest = active[active != old]
        others = np.bincount(self.gap_of[rest], minlength=len(GAPS))[self.gap_of[free]]
        log = log + self._odds(others, self.gap_of[free])[:, None] + self.hidden[free, 1:]
        log += _coinciding(np.maximum(self._coinciding_without([old])[chain], self.coincidence[free, 1:]))
        cause, size = np.unravel_index(int(np.argmax(log + self.rng.gumbel(size=log.shape))), log.shape)
        new, place = int(free[cause]), int(size) + 1
        self.index[chain, old] = 0
        self.index[chain, new] = place
        self.total[chain], self.spare[chain] = total + self.changes[new, place], spare + self.added[new, place]
        self.share[chain], self.stress[chain] = share * self.success[new, place], stress + self.stresses[new, place]

    def _draw_scale(self) -> None:
        """Draw the scale of the spread between engines, given the entries that the causes leave unexplained.

        A few entries may be extreme and do not count. Otherwise one strange trait would make all others uncertain.
        """
        entries = self.entries
        residual = (entries.difference - sum_of(self.total, entries.logarithmic))[:, None]
        residual, variance, shared = entries.without_shared(residual, self.noises + self.spare[:, None])
        usual = entries.student(np.square(residual), variance)
        extreme = -0.5 * np.log(np.square(EXTREME) * self.variance)
        log = np.logaddexp(np.log1p(-FEW) + usual, np.log(FEW) + extreme).sum(axis=-1) + shared + self.scale_prior
        self.scale = np.argmax(log + self.rng.gumbel(size=log.shape), axis=1)
        self.noise = self.noises[self.scale]

    def _draw_unmodelled(self) -> np.ndarray:
        """Draw whether something unmodelled is present and what it costs; return the log-posterior of all chains."""
        fits = {share: self.entries.fit(self.total, self.noise + self.spare, share) for share in AFFECTED}
        log = np.empty((CHAINS, 1 + len(EFFECTS)))
        log[:, 0] = fits[0.0] + self._outcome(self.share, self.stress, None) + np.log1p(-UNMODELLED)
        log[:, 1:] = np.stack([fits[share] for share in EFFECTS[:, 0]], axis=1) + np.log(UNMODELLED / len(EFFECTS))
        log[:, 1:] += self._outcome(self.share[:, None], self.stress[:, None], EFFECTS[:, 1])
        new = np.argmax(log + self.rng.gumbel(size=log.shape), axis=1)
        self.unmodelled = new > 0
        drawn = EFFECTS[np.maximum(new - 1, 0)] * self.unmodelled[:, None]
        self.affected, self.loss = drawn[:, 0], drawn[:, 1]
        shares, plain, _ = self.outcome_at
        usual = np.interp(self.share, shares, plain) - self.stress - self._outcome(self.share, self.stress, None)
        self.extra = ~self.unmodelled & (self.rng.random(CHAINS) > np.exp(np.minimum(usual, 0.0)))
        return log[np.arange(CHAINS), new] + self._log_prior()

    def _log_prior(self) -> np.ndarray:
        """(chains,) log-prior of the causes that hold, and of the scale of the spread between engines."""
        counts = np.stack([(self.index[:, self.gap_of == gap] > 0).sum(axis=1) for gap in range(len(GAPS))], axis=1)
        priors = np.pad(np.cumsum(self.odds, axis=1), ((0, 0), (1, 0)))
        causes = priors[np.arange(len(GAPS)), counts].sum(axis=1)
        return causes + self.scale_prior[self.scale] + _coinciding(self._coinciding_without([]))

    def _coinciding_without(self, causes: list[int]) -> np.ndarray:
        """(chains,) the best coincidence of an event with the failures, without some causes; -inf if there is none.

        Only the best counts: the same failures are no evidence for two events.
        """
        active = self.coincidence[np.arange(len(self.coincidence)), self.index]
        active[:, causes] = -np.inf
        return active.max(axis=1)


def _coinciding(best: np.ndarray) -> np.ndarray:
    """Log-likelihood ratios of the best coincidences; 0 where no event holds."""
    return np.where(np.isneginf(best), 0.0, best)
