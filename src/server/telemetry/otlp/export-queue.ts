import { pause } from '../../platform/timers.ts'
import { type Batch, createBatches, type Frame } from './batches.ts'

/** What the collector answered, or why it did not. */
export interface PostResult {
  /** Undefined without a response. */
  readonly status: number | undefined
  readonly problem: string | undefined
}

interface Options {
  readonly frame: Frame
  /** Sends the bytes of a batch; never rejects. */
  readonly post: (body: Buffer) => Promise<PostResult>
  /** Called when a batch cannot be sent. */
  readonly onProblem: (problem: string) => void
  /** Maximum number of queued items; 10,000 by default. */
  readonly maxItems?: number
  /** Maximum total size of the queued items in bytes; 16 million by default. */
  readonly maxSize?: number
  /** How long items are gathered into a batch; 1,000 by default. */
  readonly gatherMs?: number
  /** Longest pause between two attempts; 30,000 by default. */
  readonly maxPauseMs?: number
}

/** Queue of encoded items for a collector. Adding never waits: a full queue drops new items. */
export interface ExportQueue {
  /** Copies the bytes of an item. */
  add(item: Uint8Array): void
  readonly exported: number
  readonly droppedByQueue: number
  readonly droppedByCollector: number
  /** Sends what is queued, for at most `graceMs`, and drops the rest. */
  stop(graceMs: number): Promise<void>
}

/** Status codes after which a collector accepts the same batch later. Source: OTLP 1.x, section Retryable responses. */
const retryable: ReadonlySet<number> = new Set([429, 502, 503, 504])

export function createExportQueue(options: Options): ExportQueue {
  const { frame, post, onProblem, maxItems = 10_000, maxSize = 16_000_000 } = options
  const { gatherMs = 1_000, maxPauseMs = 30_000 } = options
  /** The batch that is being written; `full` are those before. */
  const open = createBatches(frame)
  let full: Batch[] = []
  let exported = 0
  let droppedByQueue = 0
  let droppedByCollector = 0
  let sending: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  const stopping = new AbortController()

  const queuedItems = (): number => full.reduce((sum, { items }) => sum + items, open.items)
  const queuedSize = (): number => full.reduce((sum, { size }) => sum + size, open.size)

  /** Sends one batch. Returns false when it should be sent again. */
  async function send(batch: Batch): Promise<boolean> {
    const { status, problem } = await post(batch.body())
    const isAccepted = status !== undefined && status < 300
    if (!isAccepted) onProblem(problem ?? `the collector returned status ${status}`)
    if (status === undefined || retryable.has(status)) return false
    full = full.slice(1)
    // What a collector rejected it may not have read, so those bytes may still be on their way.
    if (isAccepted) open.reuse(batch)
    if (isAccepted) exported += batch.items
    else droppedByCollector += batch.items
    return true
  }

  /** Sends what is queued, and then only full batches: a few items each time would cost most of a request. */
  async function sendAll(): Promise<void> {
    let pauseMs = gatherMs
    seal()
    for (let batch = full[0]; batch; batch = full[0]) {
      if (await send(batch)) {
        pauseMs = gatherMs
        if (stopping.signal.aborted) seal()
        continue
      }
      if (stopping.signal.aborted) return
      await pause(pauseMs, stopping.signal)
      pauseMs = Math.min(maxPauseMs, pauseMs * 2)
    }
  }

  function seal(): void {
    const batch = open.take()
    if (batch) full.push(batch)
  }

  function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    sending ??= sendAll().finally(() => {
      sending = undefined
      if (open.items > 0 && !stopping.signal.aborted) flushLater()
    })
    return sending
  }

  function flushLater(): void {
    timer ??= setTimeout(() => void flush(), gatherMs).unref()
  }

  return {
    add(item) {
      if (stopping.signal.aborted || queuedItems() >= maxItems || queuedSize() + item.length > maxSize) {
        droppedByQueue++
        return
      }
      const batch = open.add(item)
      if (batch) full.push(batch)
      if (sending) return
      if (batch) void flush()
      else flushLater()
    },
    get exported() {
      return exported
    },
    get droppedByQueue() {
      return droppedByQueue
    },
    get droppedByCollector() {
      return droppedByCollector
    },
    async stop(graceMs) {
      stopping.abort()
      const late = new AbortController()
      await Promise.race([flush(), pause(graceMs, late.signal)])
      late.abort()
      droppedByQueue += queuedItems()
      open.take()
      full = []
    },
  }
}
