import { nextVersion, type RowCipher } from '../../db/encrypted-rows.ts'
import { DatabaseUnavailable } from '../../platform/errors.ts'
import type { Json } from '../../platform/json.ts'
import { pause } from '../../platform/timers.ts'
import type { ResponseName } from '../responses/store.ts'
import { frameOf } from './events.ts'
import { type Claim, type EventRow, placeOf } from './rows.ts'
import type { BackgroundStore } from './store.ts'

interface Deps {
  readonly store: Pick<BackgroundStore, 'append'>
  readonly cipher: RowCipher<'background_events'>
  readonly claim: Claim
  /** Aborts when the claim is lost: nothing more is written. */
  readonly lost: AbortSignal
  /** Called when events can no longer be stored, such as after another claim: the call must stop. */
  readonly onStopped: () => void
}

/** Events of this time share a row: a fast model would write hundreds of rows per second. */
const gatherMs = 50
/** Bytes that wait for the row before; beyond them the upstream waits. */
const maxWaitingBytes = 256 * 1024
const retryMs = 500

/** Encrypts frames with consecutive numbers as one row. */
export function encryptEvents(
  cipher: RowCipher<'background_events'>,
  { principal, id }: ResponseName,
  { frames, first, last }: { readonly frames: string; readonly first: number; readonly last: number },
): EventRow {
  const row = { principal, id, place: placeOf(first), version: nextVersion(undefined) }
  return { ...row, last_event: last, ...cipher.encrypt(frames, row) }
}

/** Numbers the events of a run and stores them in order, several per row. */
export class EventWriter {
  readonly #deps: Deps
  /** Frames that wait to be stored. */
  #waiting: string[] = []
  #waitingBytes = 0
  #stored: number
  #next: number
  #writing: Promise<void> | undefined
  #isOver = false
  #failure: unknown
  #resume: (() => void) | undefined

  constructor(deps: Deps) {
    this.#deps = deps
    this.#next = deps.claim.next_event
    this.#stored = this.#next
  }

  /** Number after the last stored event. */
  get stored(): number {
    return this.#stored
  }

  /** Adds an event. Returns false when the sender should wait for `onDrain`. */
  add(event: Json): boolean {
    const frame = frameOf(event, this.#next++)
    this.#waiting.push(frame)
    this.#waitingBytes += Buffer.byteLength(frame)
    if (!this.#writing) this.#start()
    return this.#waitingBytes < maxWaitingBytes
  }

  onDrain(resume: () => void): void {
    if (this.#waitingBytes < maxWaitingBytes) resume()
    else this.#resume = resume
  }

  /** Resolves when every event is stored, or the claim is lost. Rejects when an event cannot be stored. */
  async flushed(): Promise<void> {
    while (this.#writing) await this.#writing
    if (this.#failure !== undefined) throw this.#failure
  }

  get #hasWork(): boolean {
    return this.#waiting.length > 0 && !this.#isOver && !this.#deps.lost.aborted
  }

  #start(): void {
    this.#writing = this.#write().finally(() => {
      this.#writing = undefined
      if (this.#hasWork) this.#start()
    })
  }

  async #write(): Promise<void> {
    const { lost, onStopped } = this.#deps
    try {
      while (this.#hasWork) {
        if (this.#waitingBytes < maxWaitingBytes) await pause(gatherMs, lost)
        await this.#writeRow()
      }
    } catch (error) {
      // Reported by `flushed`, after the call has ended.
      this.#failure = error
      this.#isOver = true
      onStopped()
    }
  }

  async #writeRow(): Promise<void> {
    const { store, cipher, claim, lost, onStopped } = this.#deps
    const frames = this.#waiting
    const next = this.#next
    this.#waiting = []
    this.#waitingBytes = 0
    this.#resume?.()
    this.#resume = undefined
    const row = encryptEvents(cipher, claim, { frames: frames.join(''), first: next - frames.length, last: next - 1 })
    if (await whileClaimed(lost, () => store.append(claim, row, next))) {
      this.#stored = next
      return
    }
    this.#isOver = true
    onStopped()
  }
}

/** Returns the result of a write, repeated while the database is unavailable; undefined once the claim is lost. */
export async function whileClaimed<T>(lost: AbortSignal, write: () => Promise<T>): Promise<T | undefined> {
  while (!lost.aborted) {
    try {
      return await write()
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error
      await pause(retryMs, lost)
    }
  }
  return undefined
}
