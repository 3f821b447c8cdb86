import type { Notifications } from '../../db/notifications.ts'
import type { Log } from '../../platform/log.ts'
import { every, pause } from '../../platform/timers.ts'
import { type Claim, queuedChannel, stoppedChannel } from './rows.ts'
import type { RunBackground } from './run.ts'
import type { BackgroundStore } from './store.ts'

interface Deps {
  readonly store: Pick<BackgroundStore, 'claim' | 'renew'>
  readonly run: RunBackground
  readonly notifications: Pick<Notifications, 'on' | 'onReconnect'>
  /** Identifies this process among the replicas. */
  readonly owner: string
  /** Maximum responses that run in this process at the same time. */
  readonly maxRunning: () => number
  readonly log: Pick<Log, 'warn' | 'debug'>
}

interface Running {
  readonly claim: Claim
  readonly lost: AbortController
  /** When the request was sent that claimed or renewed it last; by the database clock the claim lasts longer. */
  renewedAt: number
  readonly done: Promise<void>
}

/** Also bounds how long a cancelled response runs whose notification was lost. */
const renewMs = 1_000
/** A process that cannot renew stops its work before its claims of 15 s expire. */
const selfStopMs = 10_000
/** Share of the running responses that one key may have while others wait. */
const shareOfKey = 0.5
/** Time to store the ends of responses that were interrupted by a stop. */
const endingMs = 3_000

/**
 * Claims queued background responses and runs them, those that are due first. Must be created before the notifications
 * start.
 */
export function createBackgroundRunner({ store, run, notifications, owner, maxRunning, log }: Deps) {
  const running = new Map<string, Running>()
  const stopping = new AbortController()
  const timers: (() => Promise<void>)[] = []
  let isStarted = false
  let claiming: Promise<void> | undefined
  let hasNews = false

  function lose(entry: Running): void {
    if (running.get(entry.claim.id) === entry) running.delete(entry.claim.id)
    entry.lost.abort()
  }

  /** Returns the keys that have their share of the running responses. */
  function busyKeys(): string[] {
    const counts = new Map<string, number>()
    for (const { claim } of running.values()) {
      const key = claim.api_key_id ?? ''
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
    const share = Math.max(1, Math.ceil(maxRunning() * shareOfKey))
    return [...counts].filter(([, count]) => count >= share).map(([key]) => key)
  }

  function begin(claim: Claim, renewedAt: number): void {
    const lost = new AbortController()
    const done = run(claim, { lost: lost.signal, stopping: stopping.signal })
      // The claim expires, and a process claims the response again.
      .catch((cause: unknown) => log.warn({ err: cause, response: claim.id }, 'a background response was interrupted'))
      .finally(() => {
        if (running.get(claim.id) === entry) running.delete(claim.id)
        claimSoon()
      })
    const entry: Running = { claim, lost, renewedAt, done }
    running.set(claim.id, entry)
  }

  async function claimAll(): Promise<void> {
    do {
      hasNews = false
      while (isStarted && running.size < maxRunning()) {
        const claimedAt = performance.now()
        const claim = await store.claim(owner, busyKeys())
        if (!claim) break
        begin(claim, claimedAt)
      }
    } while (hasNews && isStarted)
  }

  function claimSoon(): void {
    hasNews = true
    claiming ??= claimAll()
      .catch((cause: unknown) => log.debug({ err: cause }, 'cannot claim background responses; retrying'))
      .finally(() => {
        claiming = undefined
      })
  }

  /** Renews claims, and stops the runs of those that are no longer valid. */
  async function renew(entries: readonly Running[]): Promise<void> {
    if (entries.length === 0) return
    const startedAt = performance.now()
    try {
      const ours = new Set(
        await store.renew(
          owner,
          entries.map(({ claim }) => claim),
        ),
      )
      for (const entry of entries) {
        if (ours.has(entry.claim.id)) entry.renewedAt = startedAt
        else lose(entry)
      }
    } catch (cause) {
      log.debug({ err: cause }, 'cannot renew the claims of background responses; retrying')
    }
  }

  /** Separate from the renewal, which an unresponsive database can block. */
  async function loseStale(): Promise<void> {
    for (const entry of running.values()) if (performance.now() - entry.renewedAt > selfStopMs) lose(entry)
  }

  /** Waits for the running responses, at most `ms`. */
  async function allDone(ms: number): Promise<void> {
    const done = new AbortController()
    const all = Promise.all([...running.values()].map(entry => entry.done)).finally(() => done.abort())
    await Promise.race([all, pause(ms, done.signal)])
  }

  notifications.on(queuedChannel, () => isStarted && claimSoon())
  notifications.on(stoppedChannel, id => {
    const entry = running.get(id)
    if (entry) void renew([entry])
  })
  notifications.onReconnect(() => isStarted && claimSoon())

  return {
    start(): void {
      isStarted = true
      timers.push(
        every(renewMs, () => renew([...running.values()])),
        every(renewMs, loseStale),
        every(renewMs, async () => claimSoon()),
      )
      claimSoon()
    },

    /** Claims no more, and waits for the running responses. */
    async drain(graceMs: number): Promise<void> {
      isStarted = false
      await claiming
      await allDone(graceMs)
    },

    /** Puts the running responses back, or ends those with a part of an answer. */
    async stop(): Promise<void> {
      isStarted = false
      await claiming
      stopping.abort()
      await allDone(endingMs)
      for (const entry of running.values()) entry.lost.abort()
      await Promise.all(timers.map(stopTimer => stopTimer()))
    },
  }
}
