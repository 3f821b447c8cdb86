import type { Log } from '../platform/log.ts'
import { every } from '../platform/timers.ts'
import type { Notifications } from './notifications.ts'

interface Options<Claim> {
  readonly notifications: Pick<Notifications, 'on' | 'onReconnect'>
  /** Channel whose payloads begin with the id of a session that has changed. */
  readonly channel: string
  /** Marks the rows of these sessions as ready; returns how many. */
  readonly markReady: (sessionIds: readonly string[]) => Promise<number>
  /** Finds work whose notification was lost. `isFirst`: also work from before the start or an interruption. */
  readonly sweep: (isFirst: boolean) => Promise<void>
  /** Claims a ready row, except one of the `busy` receivers. */
  readonly claim: (busy: readonly string[]) => Promise<Claim | undefined>
  readonly receiverOf: (claim: Claim) => string
  /** Does the work of a claim. It must end soon after `isRunning` returns false. */
  readonly work: (claim: Claim, isRunning: () => boolean) => Promise<void>
  /** What the rows are, for the log. */
  readonly name: string
  readonly log: Pick<Log, 'warn'>
}

const flushMs = 200
const pollMs = 1_000
const sweepMs = 10_000
const maxParallel = 8
const maxOfReceiver = 4

/** Work of this process on rows that replicas claim. */
export interface ClaimedWork {
  start(): void
  /** Waits for the work in flight. */
  stop(): Promise<void>
  /** Runs in this process only while the work is started. Failures are logged. */
  attempt(work: () => Promise<void>): void
}

/**
 * Claims rows and works on them, at most 8 at a time and 4 per receiver, so that a slow receiver does not delay the others.
 * NOTIFY announces changes; a poll every second finds rows whose time has come, a sweep every 10 s lost notifications.
 */
export function createClaimedWork<Claim>(options: Options<Claim>): ClaimedWork {
  const { notifications, log, name } = options
  const changedSessions = new Set<string>()
  const running = new Map<Promise<void>, string>()
  const timers: (() => Promise<void>)[] = []
  let isStarted = false
  let isClaiming = false
  let isFirstSweep = true

  const logErrors = (work: () => Promise<void>) => () =>
    work().catch((cause: unknown) => log.warn({ err: cause }, `cannot read ${name} to send; retrying in the next poll`))

  async function flush(): Promise<void> {
    if (changedSessions.size === 0) return
    const ids = [...changedSessions]
    changedSessions.clear()
    if ((await options.markReady(ids)) > 0) await claimAll()
  }

  async function sweep(): Promise<void> {
    const isFirst = isFirstSweep
    isFirstSweep = false
    try {
      await options.sweep(isFirst)
    } catch (error) {
      isFirstSweep ||= isFirst
      throw error
    }
    await claimAll()
  }

  async function claimAll(): Promise<void> {
    if (isClaiming) return
    isClaiming = true
    try {
      while (isStarted && running.size < maxParallel) {
        const claim = await options.claim(busyReceivers(running.values()))
        if (!claim) return
        begin(claim)
      }
    } finally {
      isClaiming = false
    }
  }

  function begin(claim: Claim): void {
    const receiver = options.receiverOf(claim)
    const work = options
      .work(claim, () => isStarted)
      // The claim expires, and a replica continues.
      .catch((cause: unknown) =>
        log.warn({ err: cause, receiver }, `sending of ${name} was interrupted; it continues after 20 s`),
      )
      .finally(() => {
        running.delete(work)
        if (isStarted) void logErrors(claimAll)()
      })
    running.set(work, receiver)
  }

  notifications.on(options.channel, hint => void changedSessions.add(hint.split(' ')[0] ?? ''))
  notifications.onReconnect(() => {
    isFirstSweep = true
  })

  return {
    start() {
      isStarted = true
      void logErrors(sweep)()
      timers.push(
        every(flushMs, logErrors(flush)),
        every(pollMs, logErrors(claimAll)),
        every(sweepMs, logErrors(sweep)),
      )
    },
    async stop() {
      isStarted = false
      await Promise.all(timers.map(stop => stop()))
      await Promise.all(running.keys())
    },
    attempt(work) {
      if (isStarted) void logErrors(work)()
    },
  }
}

/** Returns receivers with the maximum of parallel work. */
function busyReceivers(receivers: Iterable<string>): string[] {
  const counts = new Map<string, number>()
  for (const receiver of receivers) counts.set(receiver, (counts.get(receiver) ?? 0) + 1)
  return [...counts].filter(([, count]) => count >= maxOfReceiver).map(([receiver]) => receiver)
}
