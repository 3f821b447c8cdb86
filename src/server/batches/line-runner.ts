import { randomUUID } from 'node:crypto'
import type { Log } from '../platform/log.ts'
import { every, pause } from '../platform/timers.ts'
import type { BatchStore } from './batch-store.ts'
import { lineError } from './errors.ts'
import type { CallLine, LineEnd } from './line-call.ts'
import type { ClaimedLine, LineStore } from './line-store.ts'

interface Deps {
  readonly lines: LineStore
  readonly batches: Pick<BatchStore, 'wait'>
  readonly callLine: CallLine
  /** Maximum number of calls at once. */
  readonly maxCalls: () => number
  /** True while this process has little time or connections left: calls of batches wait. */
  readonly isPressed: () => boolean
  /** Id of this process. */
  readonly owner: string
  readonly log: Pick<Log, 'warn'>
  /** How long a line, and then its batch, wait for room in a budget. */
  readonly budgetMs?: { readonly line: number; readonly batch: number }
}

interface Ended {
  readonly line: ClaimedLine
  readonly end: LineEnd
}

const pollMs = 1_000
const renewMs = 3_000
const retryMs = 1_000
const maxStopMs = 5_000
const nameOf = ({ batch_id, seq }: ClaimedLine): string => `${batch_id} ${seq}`

/** Makes the calls of lines in this process. */
export interface LineRunner {
  start(): void
  /** Claims lines now, not at the next poll. */
  wake(): void
  /** Claims no more lines, and waits for the calls in flight. Those that do not end within `graceMs` are aborted. */
  drain(graceMs: number): Promise<void>
  stop(): Promise<void>
}

/**
 * Claims lines of all batches and calls them, at most `maxCalls` at once. Each line is claimed, and settled when its
 * call has ended. A line of an exited process is called again; its result is stored once.
 */
export function createLineRunner(deps: Deps): LineRunner {
  const { lines, batches, callLine, log, budgetMs = { line: 5_000, batch: 2_000 } } = deps
  const stopping = new AbortController()
  /** Lines from their claim until their end is stored. */
  const running = new Map<string, ClaimedLine>()
  const ended: Ended[] = []
  let isStarted = false
  let filling: Promise<void> | undefined
  let storing: Promise<void> | undefined
  let timers: (() => Promise<void>)[] = []

  async function claimLines(): Promise<void> {
    for (;;) {
      const max = deps.maxCalls()
      const room = max - running.size
      // Several at a time: a claim costs the database about as much as a call.
      if (!isStarted || room < Math.ceil(max / 4) || deps.isPressed()) return
      const claimed = await lines.claim({ claim: randomUUID(), owner: deps.owner, limit: room })
      for (const line of claimed) begin(line)
      if (claimed.length < room) return
    }
  }

  async function fill(): Promise<void> {
    filling ??= claimLines()
      .catch((cause: unknown) => log.warn({ err: cause }, 'cannot claim lines of batches; retrying'))
      .finally(() => {
        filling = undefined
      })
    await filling
  }

  function begin(line: ClaimedLine): void {
    running.set(nameOf(line), line)
    void callLine(line, stopping.signal)
      .catch((cause: unknown): LineEnd => {
        log.warn({ err: cause, batch_id: line.batch_id, line: line.seq }, 'a call of a batch failed; retrying')
        return { kind: 'later', isTry: true, waitMs: 30_000 }
      })
      .then(end => {
        ended.push({ line, end })
        void store()
      })
  }

  async function store(): Promise<void> {
    storing ??= storeAll().finally(() => {
      storing = undefined
    })
    await storing
  }

  async function storeAll(): Promise<void> {
    while (ended.length > 0) {
      const group = ended.slice()
      try {
        await storeEnds(group)
      } catch (cause) {
        if (stopping.signal.aborted) return
        log.warn({ err: cause, lines: group.length }, 'cannot store results of batches; retrying')
        await pause(retryMs, stopping.signal)
        continue
      }
      ended.splice(0, group.length)
      for (const { line } of group) running.delete(nameOf(line))
      void fill()
    }
  }

  async function storeEnds(group: readonly Ended[]): Promise<void> {
    const results = group.flatMap(({ line, end }) => (end.kind === 'ended' ? [{ ...line, ...end.result }] : []))
    if (results.length > 0) await lines.settle(results)
    const released = group.flatMap(({ line, end }) => releaseOf(line, end, budgetMs.line))
    if (released.length > 0) await lines.release(released)
    for (const { line, end } of lastOfEachBatch(group)) {
      if (end.kind === 'waiting') await batches.wait(line.batch_id, { waitMs: budgetMs.batch, reason: end.reason })
      if (end.kind === 'keyless') await closeAll(line)
    }
  }

  /** Ends the open lines of a batch whose key may make no more calls. */
  async function closeAll({ batch_id, format, key_id }: ClaimedLine): Promise<void> {
    const message = `key ${key_id} of this batch was revoked, has expired or may only read; create a batch of the remaining requests with a valid key`
    const result = lineError(format, 'unauthorized', message)
    while ((await lines.close(batch_id, { type: 'errored', result })) > 0 && !stopping.signal.aborted);
  }

  async function renew(): Promise<void> {
    if (running.size === 0) return
    await lines
      .renew([...running.values()])
      .catch((cause: unknown) => log.warn({ err: cause }, 'cannot renew claims on lines of batches; retrying'))
  }

  return {
    start() {
      isStarted = true
      void fill()
      timers = [every(pollMs, fill), every(renewMs, renew)]
    },
    wake() {
      if (isStarted) void fill()
    },
    async drain(graceMs) {
      isStarted = false
      await filling
      const late = performance.now() + Math.max(0, graceMs - maxStopMs)
      while (running.size > 0 && performance.now() < late) await pause(50)
    },
    async stop() {
      isStarted = false
      stopping.abort()
      await filling
      const late = performance.now() + maxStopMs
      // Aborted calls end soon, and are released for other processes.
      while (running.size > 0 && performance.now() < late) {
        await store()
        await pause(20)
      }
      await Promise.all(timers.map(stopTimer => stopTimer()))
    },
  }
}

/** What concerns a whole batch is done once. */
const lastOfEachBatch = (group: readonly Ended[]): Iterable<Ended> =>
  new Map(
    group
      .filter(({ end }) => end.kind === 'waiting' || end.kind === 'keyless')
      .map(ended => [ended.line.batch_id, ended]),
  ).values()

/** A line without a key is open again, so that it is closed with the others. */
function releaseOf(line: ClaimedLine, end: LineEnd, budgetMs: number) {
  switch (end.kind) {
    case 'ended':
      return []
    case 'later':
      return [{ ...line, waitMs: end.waitMs, isTry: end.isTry }]
    case 'waiting':
      return [{ ...line, waitMs: budgetMs, isTry: false }]
    case 'keyless':
      return [{ ...line, waitMs: 0, isTry: false }]
  }
}
