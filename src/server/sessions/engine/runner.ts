import type { AgentStore } from '../../agents/store.ts'
import { DatabaseUnavailable } from '../../platform/errors.ts'
import { every, pause } from '../../platform/timers.ts'
import type { RuntimeRegistry } from '../../runtimes/runtime.ts'
import { withOverrides } from '../agent-overrides.ts'
import { FenceLost, whileHeld } from '../log/event-log.ts'
import type { Offer } from '../queue/prompt-queue.ts'
import type { QueuedPrompt } from '../queue/prompt-store.ts'
import type { RunRow } from '../session-row.ts'
import { Backlog } from './backlog.ts'
import type { LeaseStore } from './lease-store.ts'
import type { HeldSession, Leases } from './leases.ts'
import { runDespiteFaults } from './own-faults.ts'
import { giveUp, type RunDeps, runPrompt } from './run.ts'
import { missingRuntime, toRunSession } from './run-session.ts'

export interface RunnerDeps extends Omit<RunDeps, 'draining' | 'onAsking' | 'wakeLater'> {
  readonly agents: Pick<AgentStore, 'version'>
  readonly runtimes: Pick<RuntimeRegistry, 'find'>
  readonly leases: Leases
  readonly leaseStore: LeaseStore
  readonly maxSessions: number
  /** True while requests of callers wait for what sessions take. */
  readonly isPressed: () => boolean
  /** True while this process has no descriptors for another session. */
  readonly isShort: () => boolean
}

const sweepMs = 5_000
/** While callers keep this process busy, sessions begin only beside less than so many others, */
const pressedSessions = 2
/** or after so long without a beginning: most sessions at work wait for their model, and hold nothing up. */
const pressedPaceMs = 200
/** Sessions that wait for people, beside those that work: each keeps its conversation in memory. */
const maxAsking = 1_000
const settleMs = 2_000
/** By so much a time that the database tells may come later here. */
const clockSlackMs = 100
const handOverRetryMs = 500
/** More than two renewals: an owner that is silent for so long, and not connected, is dead. */
const silentOwnerMs = 5_000

/** Runs the sessions of this process: one loop per session, prompts in order, as many sessions at once as allowed. */
export class Runner {
  readonly #deps: RunnerDeps
  readonly #active = new Map<string, Promise<void>>()
  /** What the loops of these sessions hold, also while a run waits without its lease. */
  readonly #heldHere = new Map<string, HeldSession>()
  /** Sessions that were woken while they ran: looked at once more when their loop has ended. */
  readonly #wokenAgain = new Set<string>()
  /** Sessions that wait for people: they take no slot. */
  readonly #asking = new Set<string>()
  readonly #backlog: Backlog
  readonly #shutdown = new AbortController()
  #stopSweeping: (() => Promise<void>) | undefined
  #filling: Promise<void> | undefined
  /** Slots for sessions that are being taken. */
  #reserved = 0
  readonly #draining = new AbortController()
  /** When a session began last. */
  #beganAt = 0
  #laterFill: NodeJS.Timeout | undefined

  constructor(deps: RunnerDeps) {
    this.#deps = deps
    this.#backlog = new Backlog(deps.leases)
  }

  /** Takes up what a dead process left, then looks for sessions without an owner every 5 s. */
  async start(): Promise<void> {
    const expired = await this.#deps.leaseStore.expireDeadOwners({ silentForMs: 0 })
    if (expired > 0) this.#deps.log.info({ sessions: expired }, 'taking over sessions of a process that is gone')
    await this.#sweep()
    this.#stopSweeping = every(sweepMs, () => this.#sweep())
  }

  /** Number of sessions that run here now. */
  get activeCount(): number {
    return this.#active.size
  }

  /** Starts to work on a session, unless this or another process does; later when there is no room. */
  wake(sessionId: string): void {
    if (this.#isDraining) return
    this.#deps.leases.tellNews(sessionId)
    if (this.#active.has(sessionId)) this.#wokenAgain.add(sessionId)
    else if (this.#free > 0) this.#begin(sessionId, this.#deps.leases.take(sessionId))
    else {
      this.#backlog.add(sessionId)
      this.#fillLater()
    }
  }

  /** The session begins here when the statement that stores its prompt takes it for this process. */
  readonly offer = (sessionId: string): Offer | undefined => {
    const { leases } = this.#deps
    if (this.#isDraining || this.#active.has(sessionId)) return undefined
    // Those that wait for room go first.
    if (this.#free <= 0 || !this.#backlog.isEmpty) return undefined
    const takenAt = performance.now()
    const { promise, resolve } = Promise.withResolvers<HeldSession | undefined>()
    this.#begin(sessionId, promise, true)
    return {
      owner: leases.owner,
      settle: taken => {
        if (taken === 'unknown') void this.#disown(sessionId).finally(() => resolve(undefined))
        else resolve(taken && leases.adopt(taken, takenAt))
      },
    }
  }

  /** Nobody renews a lease that its owner does not know of: it is given back, and taken anew. */
  async #disown(sessionId: string): Promise<void> {
    const { leases, leaseStore, log } = this.#deps
    while (!this.#isDraining) {
      try {
        await leaseStore.disown(sessionId, leases.owner)
        this.#wokenAgain.add(sessionId)
        return
      } catch (cause) {
        log.debug({ err: cause, session_id: sessionId }, 'a lease that may be ours could not be given back yet')
        if (!(cause instanceof DatabaseUnavailable)) return
        await pause(handOverRetryMs, this.#draining.signal)
      }
    }
  }

  /** Looks for work now: hints may have been lost. */
  readonly lookAround = (): void => {
    this.#backlog.addUnheard()
    void this.#fillSoon()
  }

  /** Resolves when the session does not run here any more, or after 2 s. */
  async settled(sessionId: string): Promise<void> {
    const settled = new AbortController()
    const loop = this.#active.get(sessionId)?.then(() => settled.abort())
    if (loop) await Promise.race([loop, pause(settleMs, settled.signal)])
  }

  /** Hands all sessions over between two steps; what does not get there in `graceMs` is cut off. */
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

  /** How many sessions may begin now. Work can wait a moment in its queue; callers cannot. */
  get #free(): number {
    if (this.#deps.isShort()) return 0
    const room = this.#deps.maxSessions - this.#working - this.#reserved
    if (room <= 0 || !this.#deps.isPressed()) return room
    const isDue = performance.now() - this.#beganAt >= pressedPaceMs
    return this.#working + this.#reserved < pressedSessions || isDue ? 1 : 0
  }

  get #working(): number {
    return this.#active.size - Math.min(this.#asking.size, maxAsking)
  }

  /** What was answered goes on at once, also beyond the slots: only what begins waits for one. */
  #onAsking(sessionId: string, isAsking: boolean): void {
    if (isAsking) this.#asking.add(sessionId)
    else this.#asking.delete(sessionId)
    if (isAsking) void this.#fillSoon()
  }

  /** `isTold`: the readers know of the run that begins with the lease. */
  #begin(sessionId: string, lease: Promise<HeldSession | undefined>, isTold = false): void {
    const loop = this.#drive(sessionId, lease, isTold).finally(() => this.#ended(sessionId))
    this.#active.set(sessionId, loop)
    this.#beganAt = performance.now()
  }

  #ended(sessionId: string): void {
    this.#active.delete(sessionId)
    this.#heldHere.delete(sessionId)
    this.#asking.delete(sessionId)
    if (this.#wokenAgain.delete(sessionId)) this.wake(sessionId)
    void this.#fillSoon()
  }

  async #sweep(): Promise<void> {
    const { leaseStore, log } = this.#deps
    try {
      await leaseStore.expireDeadOwners({ silentForMs: silentOwnerMs })
    } catch (cause) {
      log.debug({ err: cause }, 'could not look for owners that are gone; the next sweep will')
    }
    this.#backlog.addUnheard()
    await this.#fillSoon()
  }

  /** Fills the free slots, one look at a time. Never rejects. */
  async #fillSoon(): Promise<void> {
    if (this.#canFill) this.#filling ??= this.#fill()
    await this.#filling
    this.#fillLater()
  }

  /** When it is not for lack of room that something waits, nobody's end tells to look again. */
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
        const taken = await this.#backlog.take(this.#reserved)
        this.#reserved = 0
        for (const held of taken) await this.#beginHeld(held)
      }
    } catch (cause) {
      this.#deps.log.debug({ err: cause }, 'could not look for work; the next sweep will')
    } finally {
      this.#reserved = 0
      this.#filling = undefined
    }
  }

  async #beginHeld(held: HeldSession): Promise<void> {
    const { sessionId } = held
    if (!this.#active.has(sessionId)) return this.#begin(sessionId, Promise.resolve(held))
    // Its run waits here, and has its lease again.
    if (this.#heldHere.get(sessionId) === held) return
    this.#tellBegun(held)
    // Its last loop here is about to end, and looks once more.
    this.#wokenAgain.add(sessionId)
    await this.#giveBack(held)
  }

  async #drive(sessionId: string, lease: Promise<HeldSession | undefined>, isTold: boolean): Promise<void> {
    const { log } = this.#deps
    let held: HeldSession | undefined
    let isReleased = false
    try {
      held = await lease
      if (held) this.#heldHere.set(sessionId, held)
      if (held && !isTold) this.#tellBegun(held)
      // Heard while the lease was taken.
      if (held && this.#wokenAgain.has(sessionId)) held.hasNews = true
      isReleased = held !== undefined && (await this.#runAll(held))
    } catch (error) {
      if (error instanceof FenceLost)
        log.info({ session_id: sessionId }, 'stopped: the session has another owner or was deleted')
      else
        log.error(
          { err: error, session_id: sessionId },
          'a session could not be run; the sweeper will take it up again',
        )
    } finally {
      if (held && isReleased) this.#deps.leases.drop(held)
      else if (held) await this.#giveBack(held)
    }
  }

  /** Tells readers here of the run that began with the lease. */
  #tellBegun({ sessionId, begun }: HeldSession): void {
    if (begun) this.#deps.eventLog.tell({ sessionId, events: [begun] })
  }

  /** A lease that expires would pass for that of a crashed process, and count against the prompt: it is handed over. */
  async #giveBack(held: HeldSession): Promise<void> {
    const { leases, leaseStore, log } = this.#deps
    leases.drop(held)
    for (;;) {
      try {
        return await leaseStore.handOver(held)
      } catch (cause) {
        log.debug({ err: cause, session_id: held.sessionId }, 'the lease could not be handed over')
        if (this.#isDraining || !(cause instanceof DatabaseUnavailable)) return
        await pause(handOverRetryMs, this.#shutdown.signal)
      }
    }
  }

  /** Runs prompt after prompt until none waits, or the process drains; true when the lease was given back. */
  async #runAll(held: HeldSession): Promise<boolean> {
    const { prompts, leaseStore } = this.#deps
    for (let known = held.first; !this.#isDraining; known = null) {
      if (held.lost.aborted) throw new FenceLost(held.sessionId)
      const prompt = known ?? (await whileHeld(held, () => prompts.next(held.sessionId)))
      if (prompt && (await this.#runToEnd(held, prompt))) return true
      if (this.#isDraining) return false
      if (await whileHeld(held, () => leaseStore.release(held))) return true
    }
    return false
  }

  #runToEnd(held: HeldSession, first: QueuedPrompt): Promise<boolean> {
    return runDespiteFaults({
      held,
      first,
      next: () => this.#deps.prompts.next(held.sessionId),
      run: (prompt, isResumed) => this.#runOne(held, prompt, isResumed),
      giveUp: (prompt, fault) => giveUp(this.#runDeps, { held, prompt }, fault),
      isDraining: () => this.#isDraining,
      shutdown: this.#shutdown.signal,
      log: this.#deps.log,
    })
  }

  get #runDeps(): RunDeps {
    const onAsking = (sessionId: string, isAsking: boolean) => this.#onAsking(sessionId, isAsking)
    const wakeLater = (sessionId: string, ms: number) =>
      void setTimeout(() => this.wake(sessionId), ms + clockSlackMs).unref()
    return { ...this.#deps, draining: this.#draining.signal, onAsking, wakeLater }
  }

  /** The session as it is now: another run of it begins under the same lease. */
  async #lookedAt(held: HeldSession): Promise<RunRow | undefined> {
    held.hasNews = true
    const row = await whileHeld(held, () => this.#deps.sessions.ofRun(held.sessionId))
    if (row) held.lastSeq = row.next_seq - 1
    return row
  }

  async #runOne(held: HeldSession, prompt: QueuedPrompt, isResumed: boolean): Promise<boolean> {
    const { agents, runtimes } = this.#deps
    const row = held.session ?? (await this.#lookedAt(held))
    if (!row) throw new FenceLost(held.sessionId)
    held.session = undefined
    const { agent_id, agent_version } = row
    const snapshot =
      agent_version === null ? undefined : await whileHeld(held, () => agents.version(agent_id, agent_version))
    const runtime = (await whileHeld(held, () => runtimes.find(row.runtime))) ?? missingRuntime(row.runtime)
    const session = toRunSession(row, snapshot && withOverrides(snapshot.agent, row.environment))
    return runPrompt(this.#runDeps, { held, row, session, runtime, prompt, isResumed, shutdown: this.#shutdown.signal })
  }
}
