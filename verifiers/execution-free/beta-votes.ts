export interface BetaVotes {
  /** Posterior mean, (yes + 1) / (votes + 2). */
  readonly mean: number;
  /** Central 95 % of the posterior. */
  readonly low: number;
  readonly high: number;
}

/**
 * P(YES) from sampled votes under a uniform prior: Beta(yes + 1, no + 1). Its distribution function at x, for whole
 * parameters, is the chance of at least yes + 1 heads in votes + 1 throws of a coin with P = x.
 * @param votes at least 1, `yes` of them for YES
 */
export function betaOfVotes(yes: number, votes: number): BetaVotes {
  const quantile = (p: number): number => {
    let [low, high] = [0, 1];
    for (let round = 0; round < 60; round += 1) {
      const middle = (low + high) / 2;
      if (atLeast(yes + 1, votes + 1, middle) < p) low = middle;
      else high = middle;
    }
    return (low + high) / 2;
  };
  return { mean: (yes + 1) / (votes + 2), low: quantile(0.025), high: quantile(0.975) };
}

/** P(X >= k) of X ~ Binomial(n, x), n small. */
function atLeast(k: number, n: number, x: number): number {
  let sum = 0;
  let choose = 1;
  for (let i = 0; i <= n; i += 1) {
    if (i >= k) sum += choose * x ** i * (1 - x) ** (n - i);
    choose = (choose * (n - i)) / (i + 1);
  }
  return sum;
}
