import { randomUUID } from 'node:crypto'
import type { RowCipher } from '../db/encrypted-rows.ts'
import type { Log } from '../platform/log.ts'
import { pause } from '../platform/timers.ts'
import { recordOfBodies, recordOfCall } from './records.ts'
import { type LogRecord, type LogSink, SinkFailure, type SinkStream } from './sink.ts'
import type { Claim, LogSinkStore, SentRow } from './store.ts'

/** A sink with the end of its bodies. */
export interface ShippedSink {
  readonly sink: LogSink
  /** Unix milliseconds; undefined: no bodies. */
  readonly bodiesUntilMs: number | undefined
}

interface Deps {
  readonly sinks: readonly ShippedSink[]
  readonly store: LogSinkStore
  readonly cipher: Pick<RowCipher<'call_bodies'>, 'decrypt'>
  readonly log: Pick<Log, 'warn' | 'info'>
  /** Pause while there is nothing to send; 1,000 by default. */
  readonly idleMs?: number
  /** Delay after a number of failed attempts. */
  readonly retryMs?: (attempts: number) => number
}

const maxCalls = 500
/** Bodies have up to 512 KB each. */
const maxBodies = 20
const renewMs = 10_000
const maxStopMs = 3_000

/** Returns 1 s, 2 s, 4 s and so on up to 5 min, with jitter so that sinks do not retry together. */
export const retryAfterMs = (attempts: number): number =>
  Math.min(1_000 * 2 ** (attempts - 1), 300_000) * (1 + Math.random() / 10)

interface Batch {
  readonly records: readonly LogRecord[]
  readonly rows: readonly SentRow[]
}

/** Streams of one sink, and the end of its bodies. */
interface Line extends ShippedSink {
  readonly stream: SinkStream
}

/**
 * Sends the rows of the ledger to the sinks, at least once: a row is marked as sent after the sink has stored it. One
 * process at a time sends a stream. A failed stream is retried until it succeeds, and does not delay another.
 */
export function createShipping({ sinks, store, cipher, log, idleMs = 1_000, retryMs = retryAfterMs }: Deps) {
  const stopping = new AbortController()
  const { signal } = stopping
  let running: readonly Promise<void>[] = []
  const lines: readonly Line[] = sinks.flatMap(given => [
    { ...given, stream: 'calls' },
    ...(given.bodiesUntilMs === undefined ? [] : [{ ...given, stream: 'bodies' } as const]),
  ])

  async function batchOf(claim: Claim, { bodiesUntilMs = 0 }: Line, maxRows: number): Promise<Batch> {
    if (claim.stream === 'calls') {
      const calls = await store.calls(claim, Math.min(maxRows, maxCalls))
      const rows = calls.map(({ id, place, outcome }) => ({ id, place, is_lost: outcome === 'lost' }))
      return { records: calls.map(recordOfCall), rows }
    }
    const bodies = await store.bodies(claim, Math.min(maxRows, maxBodies), new Date(bodiesUntilMs))
    const rows = bodies.map(({ id, place }) => ({ id, place, is_lost: false }))
    return { records: bodies.map(row => recordOfBodies(row, cipher)), rows }
  }

  /** Sends batches as long as this process has the claim. */
  async function ship(line: Line, claim: Claim, state: { maxRows: number }): Promise<void> {
    let renewedMs = performance.now()
    while (!signal.aborted) {
      const batch = await batchOf(claim, line, state.maxRows)
      if (batch.rows.length > 0) {
        await send(line, batch, state)
        if (!(await store.settle(claim, batch.rows))) return
        renewedMs = performance.now()
        continue
      }
      await pause(idleMs, signal)
      if (performance.now() - renewedMs < renewMs) continue
      if (!(await store.renew(claim))) return
      renewedMs = performance.now()
    }
  }

  async function send({ sink }: Line, { records }: Batch, state: { maxRows: number }): Promise<void> {
    try {
      await sink.send(records)
      state.maxRows = Math.min(state.maxRows * 2, maxCalls)
    } catch (error) {
      // One record that the receiver rejects must not keep the others from it.
      if (error instanceof SinkFailure && error.isRejected) state.maxRows = Math.max(1, records.length >> 1)
      throw error
    }
  }

  async function attempt(line: Line, state: { maxRows: number }): Promise<void> {
    const { sink, stream } = line
    const claim: Claim = { name: sink.name, stream, token: randomUUID() }
    if (!(await store.claim(claim))) return
    try {
      await ship(line, claim, state)
    } catch (error) {
      if (!(error instanceof SinkFailure)) {
        await store.release(claim).catch(() => undefined)
        throw error
      }
      log.warn({ sink: sink.name, stream, reason: error.message }, 'cannot send rows to a log sink; retrying')
      return await store.fail(claim, error.message, retryMs)
    }
    await store.release(claim)
  }

  async function run(line: Line): Promise<void> {
    const state = { maxRows: maxCalls }
    let isAdded = false
    while (!signal.aborted) {
      try {
        if (!isAdded) await store.add({ name: line.sink.name, stream: line.stream })
        isAdded = true
        await attempt(line, state)
      } catch (error) {
        // The claim ends by itself.
        if (!signal.aborted) log.warn({ err: error, sink: line.sink.name }, 'cannot read rows for a log sink; retrying')
      }
      await pause(idleMs, signal)
    }
  }

  return {
    start(): void {
      running = lines.map(run)
    },
    /** Does not wait for a receiver that does not answer: its batch is sent again. */
    async stop(): Promise<void> {
      stopping.abort()
      const late = new AbortController()
      await Promise.race([Promise.all(running), pause(maxStopMs, late.signal)])
      late.abort()
    },
  }
}
