import { setTimeout as sleep } from 'node:timers/promises'

interface Patience {
  /** 60,000 by default, so that a slow machine fails no test; less is for what must be soon. */
  readonly withinMs?: number
  /** What is waited for, for the message. */
  readonly what?: string
}

/** The first value of `check` that is neither undefined nor false; rejects when none comes in time. */
export async function eventually<T>(
  check: () => Promise<T | undefined | false> | T | undefined | false,
  { withinMs = 60_000, what = 'the condition' }: Patience = {},
): Promise<T> {
  const deadline = performance.now() + withinMs
  for (;;) {
    const seen = await check()
    if (seen !== undefined && seen !== false) return seen
    if (performance.now() > deadline) throw new Error(`${what} did not come within ${withinMs} ms`)
    await sleep(20)
  }
}
