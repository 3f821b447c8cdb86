import type { AgentStore } from '../../agents/store.ts'
import { DatabaseUnavailable } from '../../platform/errors.ts'
import { every, pause } from '../../platform/timers.ts'
import type { RuntimeRegistry } from '../../runtimes/runtime.ts'
import { FenceLost, whileLeased } from '../log/event-log.ts'
import type { Offer } from '../queue/prompt-queue.ts'
import type { QueuedPrompt } from '../queue/prompt-store.ts'
import type { RunRow } from '../session-row.ts'
import { Backlog } from './backlog.ts'
import type { LeaseStore } from './lease-store.ts'
import type { LeasedSession, Leases } from './leases.ts'
import { giveUp, type RunDeps, runPrompt } from './run.ts'
import { runWithRetries } from './run-retries.ts'
import { missingRuntime, runSessionOf } from './run-session.ts'

export interface RunnerDeps extends Omit<RunDeps, 'draining' | 'onAwaitingApproval' | 'wakeLater'> {
  readonly agents: Pick<AgentStore, 'version'>
  readonly runtimes: Pick<RuntimeRegistry, 'find'>
  readonly leases: Leases
  readonly leaseStore: LeaseStore
  readonly maxSessions: number
  /** True while requests of callers are delayed by the load of sessions. */
  readonly isPressed: () => boolean
  /** True while this process lacks file descriptors for another session. */
  readonly isShort: () => boolean
}

const sweepMs = 5_000
/** While callers are delayed, a session starts only if fewer than this many run, */
const pressedSessions = 2
/** or if no session started for this long: most running sessions wait for their model and cause no load. */
const pressedPaceMs = 200
/** Sessions that wait for approval, in addition to `maxSessions`: each keeps its conversation in memory. */
const maxAwaitingApproval = 1_000
const settleMs = 2_000
/** Maximum difference between the clocks of the database and of this process that is allowed for. */
const clockSlackMs = 100
const handOverRetryMs = 500
/** More than two renewal periods: an owner without a renewal for this long, and without a connection, has exited. */
const silentOwnerMs = 5_000

/**
 * Runs the sessions of this process: one loop per session, its prompts in order, at most `maxSessions` sessions at
 * once.
 */
export class Runner {
  readonly #deps: RunnerDeps
  readonly #active = new Map<string, Promise<void>>()
  /** Leases of the active loops, including those released while a run waits. */
  readonly #leasedHere = new Map<string, LeasedSession>()
  /** Sessions woken while they ran; woken again when their loop ends. */
  readonly #wokenAgain = new Set<string>()
  /** Sessions that wait for approval; they use no slot. */
  readonly #awaitingApproval = new Set<string>()
  readonly #backlog: Backlog
  readonly #shutdown = new AbortController()
  #stopSweeping: (() => Promise<void>) | undefined
  #filling: Promise<void> | undefined
  /** Slots reserved for sessions that are being acquired. */
  #reserved = 0
  readonly #draining = new AbortController()
  /** When the last session started. */
  #beganAt = 0
  #laterFill: NodeJS.Timeout | undefined

  constructor(deps: RunnerDeps) {
    this.#deps = deps
    this.#backlog = new Backlog(deps.leases)
  }

  /** Claims what exited processes left, then searches for sessions without an owner every 5 s. */
  async start(): Promise<void> {
    const expired = await this.#deps.leaseStore.expireDeadOwners({ silentForMs: 0 })
    if (expired > 0) this.#deps.log.info({ sessions: expired }, 'taking over the sessions of an exited process')
    await this.#sweep()
    this.#stopSweeping = every(sweepMs, () => this.#sweep())
  }

  /** Number of sessions with an active loop in this process. */
  get activeCount(): number {
    return this.#active.size
  }

  /** Starts a session, unless this or another process runs it; queues it when no slot is free. */
  wake(sessionId: string): void {
    if (this.#isDraining) return
    this.#deps.leases.noteNews(sessionId)
    if (this.#active.has(sessionId)) this.#wokenAgain.add(sessionId)
    else if (this.#free > 0) this.#begin(sessionId, this.#deps.leases.acquire(sessionId))
    else {
      this.#backlog.add(sessionId)
      this.#fillLater()
    }
  }

  /** Returns an offer to run the session here if the statement that stores its prompt acquires the lease. */
  readonly offer = (sessionId: string): Offer | undefined => {
    const { leases } = this.#deps
    if (this.#isDraining || this.#active.has(sessionId)) return undefined
    // Sessions that already wait for a slot go first.
    if (this.#free <= 0 || !this.#backlog.isEmpty) return undefined
    const acquiredAt = performance.now()
    const { promise, resolve } = Promise.withResolvers<LeasedSession | undefined>()
    this.#begin(sessionId, promise, true)
    return {
      owner: leases.owner,
      settle: acquired => {
        if (acquired === 'unknown') void this.#disown(sessionId).finally(() => resolve(undefined))
        else resolve(acquired && leases.adopt(acquired, acquiredAt))
      },
    }
  }

  /** Releases a lease that this process may have without knowing it, since it would never be renewed. */
  async #disown(sessionId: string): Promise<void> {
    const { leases, leaseStore, log } = this.#deps
    while (!this.#isDraining) {
      try {
        await leaseStore.disown(sessionId, leases.owner)
        this.#wokenAgain.add(sessionId)
        return
      } catch (cause) {
        log.debug(
          { err: cause, session_id: sessionId },
          'cannot release a possible lease of this process yet; retrying',
        )
        if (!(cause instanceof DatabaseUnavailable)) return
        await pause(handOverRetryMs, this.#draining.signal)
      }
    }
  }

  /** Searches the database for work now, since notifications may have been lost. */
  readonly findWork = (): void => {
    this.#backlog.requestSweep()
    void this.#fillSoon()
  }

  /** Resolves when the session no longer runs in this process, or after 2 s. */
  async settled(sessionId: string): Promise<void> {
    const settled = new AbortController()
    const loop = this.#active.get(sessionId)?.then(() => settled.abort())
    if (loop) await Promise.race([loop, pause(settleMs, settled.signal)])
  }

  /** Hands all sessions over at their next step boundary; aborts those that do not reach one within `graceMs`. */
  async drain(graceMs: number): Promise<void> {
    this.#draining.abort()
    clearTimeout(this.#laterFill)
    await this.#stopSweeping?.()
    await this.#filling
    const loops = Promise.allSettled(this.#active.values())
    const timer = setTimeout(() => this.#shutdown.abort(), graceMs)
    await loops
    clearTimeout(timer)
  }

  get #isDraining(): boolean {
    return this.#draining.signal.aborted
  }

  /** Number of sessions that may start now. Under pressure sessions yield to callers, which cannot wait in a queue. */
  get #free(): number {
    if (this.#deps.isShort()) return 0
    const room = this.#deps.maxSessions - this.#working - this.#reserved
    if (room <= 0 || !this.#deps.isPressed()) return room
    const isDue = performance.now() - this.#beganAt >= pressedPaceMs
    return this.#working + this.#reserved < pressedSessions || isDue ? 1 : 0
  }

  get #working(): number {
    return this.#active.size - Math.min(this.#awaitingApproval.size, maxAwaitingApproval)
  }

  /**
   * A session continues at once after a decision, even beyond `maxSessions`: only starting sessions wait for a slot.
   */
  #onAwaitingApproval(sessionId: string, isAwaitingApproval: boolean): void {
    if (isAwaitingApproval) this.#awaitingApproval.add(sessionId)
    else this.#awaitingApproval.delete(sessionId)
    if (isAwaitingApproval) void this.#fillSoon()
  }

  /** `isPublished` means that the start of the run was already published. */
  #begin(sessionId: string, lease: Promise<LeasedSession | undefined>, isPublished = false): void {
    const loop = this.#drive(sessionId, lease, isPublished).finally(() => this.#ended(sessionId))
    this.#active.set(sessionId, loop)
    this.#beganAt = performance.now()
  }

  #ended(sessionId: string): void {
    this.#active.delete(sessionId)
    this.#leasedHere.delete(sessionId)
    this.#awaitingApproval.delete(sessionId)
    if (this.#wokenAgain.delete(sessionId)) this.wake(sessionId)
    void this.#fillSoon()
  }

  async #sweep(): Promise<void> {
    const { leaseStore, log } = this.#deps
    try {
      await leaseStore.expireDeadOwners({ silentForMs: silentOwnerMs })
    } catch (cause) {
      log.debug({ err: cause }, 'cannot find exited owners; retrying in the next sweep')
    }
    this.#backlog.requestSweep()
    await this.#fillSoon()
  }

  /** Fills the free slots, with one query at a time. Never rejects. */
  async #fillSoon(): Promise<void> {
    if (this.#canFill) this.#filling ??= this.#fill()
    await this.#filling
    this.#fillLater()
  }

  /**
   * Schedules a retry when sessions wait for a reason other than slots, because then the end of a session triggers
   * none.
   */
  #fillLater(): void {
    if (this.#backlog.isEmpty || this.#isDraining || this.#working >= this.#deps.maxSessions) return
    this.#laterFill ??= setTimeout(() => {
      this.#laterFill = undefined
      void this.#fillSoon()
    }, pressedPaceMs).unref()
  }

  get #canFill(): boolean {
    return this.#free > 0 && !this.#isDraining && !this.#backlog.isEmpty
  }

  async #fill(): Promise<void> {
    try {
      while (this.#canFill) {
        this.#reserved = this.#free
        const acquired = await this.#backlog.acquire(this.#reserved)
        this.#reserved = 0
        for (const leased of acquired) await this.#beginLeased(leased)
      }
    } catch (cause) {
      this.#deps.log.debug({ err: cause }, 'cannot find waiting prompts; retrying in the next sweep')
    } finally {
      this.#reserved = 0
      this.#filling = undefined
    }
  }

  async #beginLeased(leased: LeasedSession): Promise<void> {
    const { sessionId } = leased
    if (!this.#active.has(sessionId)) return this.#begin(sessionId, Promise.resolve(leased))
    // Its run waits here and has its lease back.
    if (this.#leasedHere.get(sessionId) === leased) return
    this.#publishBegun(leased)
    // Its previous loop here is about to end and then starts the session again.
    this.#wokenAgain.add(sessionId)
    await this.#handOver(leased)
  }

  async #drive(sessionId: string, lease: Promise<LeasedSession | undefined>, isPublished: boolean): Promise<void> {
    const { log } = this.#deps
    let leased: LeasedSession | undefined
    let isReleased = false
    try {
      leased = await lease
      if (leased) this.#leasedHere.set(sessionId, leased)
      if (leased && !isPublished) this.#publishBegun(leased)
      // Woken while the lease was being acquired.
      if (leased && this.#wokenAgain.has(sessionId)) leased.hasNews = true
      isReleased = leased !== undefined && (await this.#runAll(leased))
    } catch (error) {
      if (error instanceof FenceLost)
        log.info({ session_id: sessionId }, 'stopped a session: it has another owner or was deleted')
      else log.error({ err: error, session_id: sessionId }, 'cannot run a session; retrying in the next sweep')
    } finally {
      if (leased && isReleased) this.#deps.leases.drop(leased)
      else if (leased) await this.#handOver(leased)
    }
  }

  /** Publishes the start of the run to the readers in this process. */
  #publishBegun({ sessionId, begun }: LeasedSession): void {
    if (begun) this.#deps.eventLog.publish({ sessionId, events: [begun] })
  }

  /** Hands the lease over. An expired lease would count as a crash against the prompt. */
  async #handOver(leased: LeasedSession): Promise<void> {
    const { leases, leaseStore, log } = this.#deps
    leases.drop(leased)
    for (;;) {
      try {
        return await leaseStore.handOver(leased)
      } catch (cause) {
        log.debug({ err: cause, session_id: leased.sessionId }, 'cannot hand a lease over')
        if (this.#isDraining || !(cause instanceof DatabaseUnavailable)) return
        await pause(handOverRetryMs, this.#shutdown.signal)
      }
    }
  }

  /** Runs prompts until none is left or the process drains. Returns true when the lease was released. */
  async #runAll(leased: LeasedSession): Promise<boolean> {
    const { prompts, leaseStore } = this.#deps
    for (let first = leased.first; !this.#isDraining; first = null) {
      if (leased.lost.aborted) throw new FenceLost(leased.sessionId)
      const prompt = first ?? (await whileLeased(leased, () => prompts.next(leased.sessionId)))
      if (prompt && (await this.#runToEnd(leased, prompt))) return true
      if (this.#isDraining) return false
      if (await whileLeased(leased, () => leaseStore.release(leased))) return true
    }
    return false
  }

  #runToEnd(leased: LeasedSession, first: QueuedPrompt): Promise<boolean> {
    return runWithRetries({
      leased,
      first,
      next: () => this.#deps.prompts.next(leased.sessionId),
      run: (prompt, isResumed) => this.#runOne(leased, prompt, isResumed),
      giveUp: (prompt, fault) => giveUp(this.#runDeps, { leased, prompt }, fault),
      isDraining: () => this.#isDraining,
      shutdown: this.#shutdown.signal,
      log: this.#deps.log,
    })
  }

  get #runDeps(): RunDeps {
    const onAwaitingApproval = (sessionId: string, isAwaitingApproval: boolean) =>
      this.#onAwaitingApproval(sessionId, isAwaitingApproval)
    const wakeLater = (sessionId: string, ms: number) =>
      void setTimeout(() => this.wake(sessionId), ms + clockSlackMs).unref()
    return { ...this.#deps, draining: this.#draining.signal, onAwaitingApproval, wakeLater }
  }

  /** Reads the session row again, because a further run starts under the same lease. */
  async #reread(leased: LeasedSession): Promise<RunRow | undefined> {
    leased.hasNews = true
    const row = await whileLeased(leased, () => this.#deps.sessions.ofRun(leased.sessionId))
    if (row) leased.lastSeq = row.next_seq - 1
    return row
  }

  async #runOne(leased: LeasedSession, prompt: QueuedPrompt, isResumed: boolean): Promise<boolean> {
    const { agents, runtimes } = this.#deps
    const row = leased.session ?? (await this.#reread(leased))
    if (!row) throw new FenceLost(leased.sessionId)
    leased.session = undefined
    const session = await whileLeased(leased, () => runSessionOf(row, agents))
    const runtime = (await whileLeased(leased, () => runtimes.find(row.runtime))) ?? missingRuntime(row.runtime)
    return runPrompt(this.#runDeps, {
      leased,
      row,
      session,
      runtime,
      prompt,
      isResumed,
      shutdown: this.#shutdown.signal,
    })
  }
}
