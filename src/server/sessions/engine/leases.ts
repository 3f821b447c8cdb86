import type { Notifications } from '../../db/notifications.ts'
import type { Log } from '../../platform/log.ts'
import { every } from '../../platform/timers.ts'
import type { Writer } from '../log/event-log.ts'
import type { PromptStore, TakenAtOnce } from '../queue/prompt-store.ts'
import { controlChannel } from '../session-store.ts'
import type { LeaseStore, TakenLease } from './lease-store.ts'
import { WarmSessions } from './warm-sessions.ts'

/** A session that this process runs. */
export interface HeldSession extends Omit<TakenLease, 'session' | 'begun' | 'hasOthers' | 'fence'>, Writer {
  /** The beginning of its first run; undefined once that is known to the run. */
  begun: TakenLease['begun']
  /** As it was when it was taken; undefined from its first run on. */
  session: TakenLease['session'] | undefined
  /** The last event of its log that this process has stored, or that was there when it was taken. */
  lastSeq: number
  /** Prompts may have come since the run has asked for those that are its own. */
  hasNews: boolean
  /** The run waits for people: once it is quiet, the lease is given up until the run goes on. */
  isAsking: boolean
  /** The lease was given up while the run waits here. */
  isWarm: boolean
  /** Called when somebody asked to stop a run; by the time it is heard another one may go on. */
  onStop: (runId: string) => void
}

interface Held extends HeldSession {
  /** Each lease of the session has another one. */
  fence: number
  takenAt: number
  /** When the request was sent that took or renewed the lease last: it lives longer than that by the database clock. */
  renewedAt: number
  /** When the run used the lease last. */
  usedAt: number
  regaining: Promise<void> | undefined
  readonly abandon: AbortController
}

interface LeasePace {
  /** Short enough that a stop request whose hint was lost still acts within 2 s. */
  readonly renewMs: number
  /** An owner that cannot renew stops its work before the lease of 15 s ends elsewhere. */
  readonly selfStopMs: number
  readonly watchMs: number
}

const usualPace: LeasePace = { renewMs: 2_000, selfStopMs: 10_000, watchMs: 1_000 }

/** The sessions that this process holds: takes leases, renews them, and says when one is lost. */
export class Leases {
  readonly #held = new Map<string, Held>()
  readonly #warm = new WarmSessions<Held>()
  readonly #store: LeaseStore
  readonly #prompts: PromptStore
  readonly #owner: string
  readonly #log: Log
  readonly #stopRenewing: () => Promise<void>
  readonly #watch: NodeJS.Timeout
  readonly #pace: LeasePace

  constructor(deps: {
    store: LeaseStore
    prompts: PromptStore
    notifications: Notifications
    owner: string
    log: Log
    pace?: LeasePace
  }) {
    this.#pace = deps.pace ?? usualPace
    this.#store = deps.store
    this.#prompts = deps.prompts
    this.#owner = deps.owner
    this.#log = deps.log
    deps.notifications.on(controlChannel, sessionId => void this.#obey(sessionId))
    this.#stopRenewing = every(this.#pace.renewMs, () => this.#renew())
    // Besides the renewal, which a database that does not answer at all can hold up for longer than a lease lives.
    this.#watch = setInterval(() => this.#loseStale(), this.#pace.watchMs)
    this.#watch.unref()
  }

  /** Keeps a lease that was taken for this process, by a request that was sent at `takenAt`. */
  adopt(taken: TakenAtOnce, takenAt: number): HeldSession {
    return this.#hold({ ...taken, wasAbandoned: false, hasOthers: false }, takenAt)
  }

  get owner(): string {
    return this.#owner
  }

  /** Takes the session; undefined when somebody else runs it, or it is gone. */
  async take(sessionId: string): Promise<HeldSession | undefined> {
    const takenAt = performance.now()
    const lease = await this.#store.take(sessionId, this.#owner)
    return lease && this.#hold(lease, takenAt)
  }

  /** Takes the first of these sessions that have work which nobody does, up to a limit. */
  async takeHeard(sessionIds: readonly string[], limit: number): Promise<HeldSession[]> {
    const takenAt = performance.now()
    return (await this.#store.takeHeard(sessionIds, limit, this.#owner)).map(lease => this.#hold(lease, takenAt))
  }

  /** Takes sessions with work that nobody does, up to a limit. */
  async takeOldest(limit: number): Promise<HeldSession[]> {
    const takenAt = performance.now()
    return (await this.#store.takeOldest(limit, this.#owner)).map(lease => this.#hold(lease, takenAt))
  }

  #hold(taken: TakenLease, takenAt: number): HeldSession {
    const warm = this.#warm.get(taken.sessionId)
    if (warm) return this.#goOnWith(warm, taken, takenAt)
    const { hasOthers: hasNews, ...lease } = taken
    const abandon = new AbortController()
    const held: Held = {
      ...lease,
      lastSeq: lease.begun?.seq ?? lease.session.next_seq - 1,
      hasNews,
      takenAt,
      renewedAt: takenAt,
      usedAt: takenAt,
      isAsking: false,
      isWarm: false,
      regaining: undefined,
      abandon,
      lost: abandon.signal,
      // A process that was paused gets here before its timers have seen how late it is.
      mayWrite: () => {
        if (this.#isStale(held)) this.#lose(held)
        held.usedAt = performance.now()
        return !abandon.signal.aborted
      },
      regain: () => (held.isWarm && !abandon.signal.aborted ? this.#regain(held) : undefined),
      onStop: () => undefined,
    }
    this.#held.set(lease.sessionId, held)
    return held
  }

  #goOnWith(warm: Held, { fence, session }: TakenLease, takenAt: number): HeldSession {
    this.#warm.remove(warm.sessionId)
    const now = { takenAt, renewedAt: takenAt, usedAt: takenAt }
    Object.assign(warm, { fence, lastSeq: session.next_seq - 1, hasNews: true, isWarm: false, ...now })
    this.#held.set(warm.sessionId, warm)
    return warm
  }

  #regain(warm: Held): Promise<void> {
    const take = async () => {
      const takenAt = performance.now()
      const lease = await this.#store.take(warm.sessionId, this.#owner, 0)
      if (lease) this.#goOnWith(warm, lease, takenAt)
      // Unless a look for work has taken it for us meanwhile.
      else if (warm.isWarm) this.#lose(warm)
    }
    warm.regaining ??= take().finally(() => {
      warm.regaining = undefined
    })
    return warm.regaining
  }

  /** Gives up the leases of runs that wait for people and are quiet. */
  async #rest(quiet: readonly Held[]): Promise<void> {
    if (quiet.length === 0) return
    const resting = new Set(await this.#store.rest(quiet, this.#owner))
    const nowMs = performance.now()
    for (const held of quiet) {
      if (!resting.has(held.sessionId) || this.#held.get(held.sessionId) !== held) continue
      this.#held.delete(held.sessionId)
      held.isWarm = true
      this.#warm.add(held, nowMs)
    }
  }

  /** Ends the runs that have waited here for too long: whoever takes their sessions begins another program. */
  async #cool(): Promise<void> {
    const overdue = this.#warm.overdue(performance.now())
    if (overdue.length === 0) return
    const ids = overdue.map(({ sessionId }) => sessionId)
    await this.#store.cool(ids, this.#owner)
    for (const warm of overdue) if (warm.isWarm) this.#lose(warm)
  }

  /** A hint that something has come for a session. */
  tellNews(sessionId: string): void {
    const held = this.#held.get(sessionId)
    if (held) held.hasNews = true
  }

  /** Forgets a session whose lease was released or lost. */
  drop(session: HeldSession): void {
    const { sessionId, fence } = session
    if (this.#held.get(sessionId)?.fence === fence) this.#held.delete(sessionId)
    if (this.#warm.get(sessionId)?.fence === fence) this.#warm.remove(sessionId)
  }

  async stop(): Promise<void> {
    clearInterval(this.#watch)
    await this.#stopRenewing()
  }

  /** Renews all leases, and looks for what asks for a session and whose hint was lost. */
  async #renew(): Promise<void> {
    const startedAt = performance.now()
    // A lease that was just taken lives long enough, and most sessions end before.
    await this.#restSome(startedAt)
    const all = [...this.#held.values()]
    const before = all.filter(({ takenAt }) => startedAt - takenAt > this.#pace.renewMs)
    try {
      const ours = new Set(before.length > 0 ? await this.#store.renew(before) : [])
      for (const held of before) {
        if (ours.has(held.sessionId)) held.renewedAt = startedAt
        else this.#lose(held)
      }
      if (all.length === 0) return
      for (const call of await this.#prompts.calls(all)) this.#follow(call)
    } catch (cause) {
      this.#log.warn({ err: cause, held: before.length }, 'could not renew the leases')
    }
  }

  async #restSome(nowMs: number): Promise<void> {
    const quiet = [...this.#held.values()].filter(
      ({ isAsking, usedAt }) => isAsking && nowMs - usedAt > this.#pace.renewMs,
    )
    try {
      await this.#rest(quiet)
      await this.#cool()
    } catch (cause) {
      this.#log.debug({ err: cause }, 'could not give up the leases of runs that wait; the next renewal will')
    }
  }

  #loseStale(): void {
    for (const held of this.#held.values()) if (this.#isStale(held)) this.#lose(held)
  }

  #isStale({ renewedAt, isWarm }: Held): boolean {
    return !isWarm && performance.now() - renewedAt > this.#pace.selfStopMs
  }

  /** A hint that the session was deleted, or that its prompt must stop. */
  async #obey(sessionId: string): Promise<void> {
    const held = this.#held.get(sessionId) ?? this.#warm.get(sessionId)
    if (!held) return
    const startedAt = performance.now()
    try {
      await held.regain?.()
      if (held.lost.aborted) return
      if ((await this.#store.renew([held])).length === 0) return this.#lose(held)
      held.renewedAt = startedAt
      for (const call of await this.#prompts.calls([held])) this.#follow(call)
    } catch (cause) {
      this.#log.debug({ err: cause }, 'could not follow a control hint; the next renewal will')
    }
  }

  #follow({ session_id, run_id }: { readonly session_id: string; readonly run_id: string | null }): void {
    if (run_id === null) this.tellNews(session_id)
    else this.#held.get(session_id)?.onStop(run_id)
  }

  #lose(held: Held): void {
    this.drop(held)
    held.abandon.abort()
  }
}
