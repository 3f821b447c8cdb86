/** Delays between the attempts of a delivery in milliseconds: 5 s, 30 s, 2 min, 10 min, 1 h, 6 h, 24 h. */
export const webhookRetryMs: readonly number[] = [5, 30, 120, 600, 3_600, 21_600, 86_400].map(
  seconds => seconds * 1_000,
)

/**
 * Returns the delay after a failed attempt, the `made`-th; undefined after the last. With jitter: when a receiver is
 * unreachable, many sessions fail together and must not retry together.
 */
export function retryDelayMs(made: number, delays: readonly number[] = webhookRetryMs): number | undefined {
  const wait = delays[made - 1]
  return wait === undefined ? undefined : wait * (1 + Math.random() / 10)
}
