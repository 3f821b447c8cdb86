const baseMs = 500
const capMs = 8_000

/** The wait before a deployment is tried again; `waits` counts those before it. Full jitter, so that callers spread. */
export const backoffMs = (waits: number, random: () => number): number =>
  random() * Math.min(capMs, baseMs * 2 ** waits)
