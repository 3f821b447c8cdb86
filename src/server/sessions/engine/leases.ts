import type { Notifications } from '../../db/notifications.ts'
import type { Log } from '../../platform/log.ts'
import { every } from '../../platform/timers.ts'
import type { Writer } from '../log/event-log.ts'
import type { AcquiredAtOnce, PromptStore } from '../queue/prompt-store.ts'
import { controlChannel } from '../session-store.ts'
import type { AcquiredLease, LeaseStore } from './lease-store.ts'
import { WarmSessions } from './warm-sessions.ts'

/** A session that this process has a lease on. */
export interface LeasedSession extends Omit<AcquiredLease, 'session' | 'begun' | 'hasOthers' | 'fence'>, Writer {
  /** The logged start of its first run; undefined once the run has read it. */
  begun: AcquiredLease['begun']
  /** The session row when the lease was acquired; undefined from its first run on. */
  session: AcquiredLease['session'] | undefined
  /** Number of the last event that this process stored, or of the last event at the time of acquisition. */
  lastSeq: number
  /** Prompts may have arrived since the run last asked for its prompts. */
  hasNews: boolean
  /** The run waits for approval: once it is idle, the lease is released until the run continues. */
  isAwaitingApproval: boolean
  /** The lease was released while the run waits in this process. */
  isWarm: boolean
  /** Called on a request to stop a run; by then another run may be active. */
  onStop: (runId: string) => void
}

interface OwnLease extends LeasedSession {
  /** Changes with each lease of the session. */
  fence: number
  acquiredAt: number
  /**
   * When the request was sent that acquired or renewed the lease last; by the database clock the lease lasts longer.
   */
  renewedAt: number
  /** When the run last used the lease. */
  usedAt: number
  reacquiring: Promise<void> | undefined
  readonly abandon: AbortController
}

interface LeasePace {
  /** Short enough that a stop request whose notification was lost takes effect within 2 s. */
  readonly renewMs: number
  /** An owner that cannot renew stops its work before its lease of 15 s expires. */
  readonly selfStopMs: number
  readonly watchMs: number
}

const usualPace: LeasePace = { renewMs: 2_000, selfStopMs: 10_000, watchMs: 1_000 }

/** The leases of this process: acquires them, renews them, and reports when one is lost. */
export class Leases {
  readonly #leased = new Map<string, OwnLease>()
  readonly #warm = new WarmSessions<OwnLease>()
  readonly #store: LeaseStore
  readonly #prompts: PromptStore
  readonly #owner: string
  readonly #log: Log
  readonly #onAcquired: (isTakeover: boolean) => void
  readonly #stopRenewing: () => Promise<void>
  readonly #watch: NodeJS.Timeout
  readonly #pace: LeasePace

  constructor(deps: {
    store: LeaseStore
    prompts: PromptStore
    notifications: Notifications
    owner: string
    log: Log
    /** Called with each acquired lease; `isTakeover`: the owner before did not hand the session over. */
    onAcquired?: (isTakeover: boolean) => void
    pace?: LeasePace
  }) {
    this.#pace = deps.pace ?? usualPace
    this.#store = deps.store
    this.#prompts = deps.prompts
    this.#owner = deps.owner
    this.#log = deps.log
    this.#onAcquired = deps.onAcquired ?? (() => {})
    deps.notifications.on(controlChannel, sessionId => void this.#handleControl(sessionId))
    this.#stopRenewing = every(this.#pace.renewMs, () => this.#renew())
    // Separate from the renewal, which an unresponsive database can block for longer than a lease lives.
    this.#watch = setInterval(() => this.#loseStale(), this.#pace.watchMs)
    this.#watch.unref()
  }

  /** Registers a lease that was acquired for this process by a request sent at `takenAt`. */
  adopt(acquired: AcquiredAtOnce, acquiredAt: number): LeasedSession {
    return this.#register({ ...acquired, wasAbandoned: false, hasOthers: false }, acquiredAt)
  }

  get owner(): string {
    return this.#owner
  }

  /** Acquires the session. Returns undefined when another process runs it, or it does not exist. */
  async acquire(sessionId: string): Promise<LeasedSession | undefined> {
    const acquiredAt = performance.now()
    const lease = await this.#store.acquire(sessionId, this.#owner)
    return lease && this.#register(lease, acquiredAt)
  }

  /** Acquires up to `limit` of these sessions, in order, that have work and no owner. */
  async acquireNotified(sessionIds: readonly string[], limit: number): Promise<LeasedSession[]> {
    const acquiredAt = performance.now()
    return (await this.#store.acquireNotified(sessionIds, limit, this.#owner)).map(lease =>
      this.#register(lease, acquiredAt),
    )
  }

  /** Acquires up to `limit` sessions that have work and no owner. */
  async acquireOldest(limit: number): Promise<LeasedSession[]> {
    const acquiredAt = performance.now()
    return (await this.#store.acquireOldest(limit, this.#owner)).map(lease => this.#register(lease, acquiredAt))
  }

  #register(acquired: AcquiredLease, acquiredAt: number): LeasedSession {
    this.#onAcquired(acquired.wasAbandoned)
    const warm = this.#warm.get(acquired.sessionId)
    if (warm) return this.#resumeWith(warm, acquired, acquiredAt)
    const { hasOthers: hasNews, ...lease } = acquired
    const abandon = new AbortController()
    const leased: OwnLease = {
      ...lease,
      lastSeq: lease.begun?.seq ?? lease.session.next_seq - 1,
      hasNews,
      acquiredAt,
      renewedAt: acquiredAt,
      usedAt: acquiredAt,
      isAwaitingApproval: false,
      isWarm: false,
      reacquiring: undefined,
      abandon,
      lost: abandon.signal,
      // A process that was suspended gets here before its timers have run.
      mayWrite: () => {
        if (this.#isStale(leased)) this.#lose(leased)
        leased.usedAt = performance.now()
        return !abandon.signal.aborted
      },
      reacquire: () => (leased.isWarm && !abandon.signal.aborted ? this.#reacquire(leased) : undefined),
      onStop: () => undefined,
    }
    this.#leased.set(lease.sessionId, leased)
    return leased
  }

  #resumeWith(warm: OwnLease, { fence, session }: AcquiredLease, acquiredAt: number): LeasedSession {
    this.#warm.remove(warm.sessionId)
    const now = { acquiredAt, renewedAt: acquiredAt, usedAt: acquiredAt }
    Object.assign(warm, { fence, lastSeq: session.next_seq - 1, hasNews: true, isWarm: false, ...now })
    this.#leased.set(warm.sessionId, warm)
    return warm
  }

  #reacquire(warm: OwnLease): Promise<void> {
    const acquire = async () => {
      const acquiredAt = performance.now()
      const lease = await this.#store.acquire(warm.sessionId, this.#owner, 0)
      if (lease) this.#resumeWith(warm, lease, acquiredAt)
      // Unless a sweep has acquired it for this process meanwhile.
      else if (warm.isWarm) this.#lose(warm)
    }
    warm.reacquiring ??= acquire().finally(() => {
      warm.reacquiring = undefined
    })
    return warm.reacquiring
  }

  /** Releases the leases of idle runs that wait for approval. */
  async #releaseQuiet(quiet: readonly OwnLease[]): Promise<void> {
    if (quiet.length === 0) return
    const released = new Set(await this.#store.releaseWarm(quiet, this.#owner))
    const nowMs = performance.now()
    for (const leased of quiet) {
      if (!released.has(leased.sessionId) || this.#leased.get(leased.sessionId) !== leased) continue
      this.#leased.delete(leased.sessionId)
      leased.isWarm = true
      this.#warm.add(leased, nowMs)
    }
  }

  /** Ends the runs that have waited here for too long; the next owner starts another program. */
  async #endOverdue(): Promise<void> {
    const overdue = this.#warm.overdue(performance.now())
    if (overdue.length === 0) return
    const ids = overdue.map(({ sessionId }) => sessionId)
    await this.#store.endWarm(ids, this.#owner)
    for (const warm of overdue) if (warm.isWarm) this.#lose(warm)
  }

  /** Notes that a prompt or another change may have arrived for a session. */
  noteNews(sessionId: string): void {
    const leased = this.#leased.get(sessionId)
    if (leased) leased.hasNews = true
  }

  /** Drops a session whose lease was released or lost. */
  drop(session: LeasedSession): void {
    const { sessionId, fence } = session
    if (this.#leased.get(sessionId)?.fence === fence) this.#leased.delete(sessionId)
    if (this.#warm.get(sessionId)?.fence === fence) this.#warm.remove(sessionId)
  }

  async stop(): Promise<void> {
    clearInterval(this.#watch)
    await this.#stopRenewing()
  }

  /** Renews all leases, and reads stop and join requests whose notifications were lost. */
  async #renew(): Promise<void> {
    const startedAt = performance.now()
    // A lease that was just acquired lives long enough, and most sessions end before it expires.
    await this.#releaseIdle(startedAt)
    const all = [...this.#leased.values()]
    const before = all.filter(({ acquiredAt }) => startedAt - acquiredAt > this.#pace.renewMs)
    try {
      const ours = new Set(before.length > 0 ? await this.#store.renew(before) : [])
      for (const leased of before) {
        if (ours.has(leased.sessionId)) leased.renewedAt = startedAt
        else this.#lose(leased)
      }
      if (all.length === 0) return
      for (const request of await this.#prompts.controlRequests(all)) this.#handleRequest(request)
    } catch (cause) {
      this.#log.warn({ err: cause, held: before.length }, 'cannot renew the leases')
    }
  }

  async #releaseIdle(nowMs: number): Promise<void> {
    const quiet = [...this.#leased.values()].filter(
      ({ isAwaitingApproval, usedAt }) => isAwaitingApproval && nowMs - usedAt > this.#pace.renewMs,
    )
    try {
      await this.#releaseQuiet(quiet)
      await this.#endOverdue()
    } catch (cause) {
      this.#log.debug({ err: cause }, 'cannot release the leases of waiting runs; retrying at the next renewal')
    }
  }

  #loseStale(): void {
    for (const leased of this.#leased.values()) if (this.#isStale(leased)) this.#lose(leased)
  }

  #isStale({ renewedAt, isWarm }: OwnLease): boolean {
    return !isWarm && performance.now() - renewedAt > this.#pace.selfStopMs
  }

  /** Handles a notification that the session was deleted or that its prompt must stop. */
  async #handleControl(sessionId: string): Promise<void> {
    const leased = this.#leased.get(sessionId) ?? this.#warm.get(sessionId)
    if (!leased) return
    const startedAt = performance.now()
    try {
      await leased.reacquire?.()
      if (leased.lost.aborted) return
      if ((await this.#store.renew([leased])).length === 0) return this.#lose(leased)
      leased.renewedAt = startedAt
      for (const request of await this.#prompts.controlRequests([leased])) this.#handleRequest(request)
    } catch (cause) {
      this.#log.debug({ err: cause }, 'cannot handle a control notification; retrying at the next renewal')
    }
  }

  #handleRequest({ session_id, run_id }: { readonly session_id: string; readonly run_id: string | null }): void {
    if (run_id === null) this.noteNews(session_id)
    else this.#leased.get(session_id)?.onStop(run_id)
  }

  #lose(leased: OwnLease): void {
    this.drop(leased)
    leased.abandon.abort()
  }
}
