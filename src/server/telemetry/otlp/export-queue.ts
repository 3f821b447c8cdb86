import { pause } from '../../platform/timers.ts'

/** What the collector answered, or why it did not. */
export interface PostResult {
  /** Undefined without a response. */
  readonly status: number | undefined
  readonly problem: string | undefined
}

interface Options {
  /** Sends a batch; never rejects. */
  readonly post: (batch: readonly string[]) => Promise<PostResult>
  /** Called when a batch cannot be sent. */
  readonly onProblem: (problem: string) => void
  /** Maximum number of queued items; 10,000 by default. */
  readonly maxItems?: number
  /** Maximum total size of the queued items in characters; 16 million by default. */
  readonly maxSize?: number
  /** How long items are gathered into a batch; 1,000 by default. */
  readonly gatherMs?: number
  /** Longest pause between two attempts; 30,000 by default. */
  readonly maxPauseMs?: number
}

/** Queue of encoded items for a collector. Adding never waits: a full queue drops new items. */
export interface ExportQueue {
  add(item: string): void
  readonly exported: number
  readonly droppedByQueue: number
  readonly droppedByCollector: number
  /** Sends what is queued, for at most `graceMs`, and drops the rest. */
  stop(graceMs: number): Promise<void>
}

const maxBatch = 200

/** Status codes after which a collector accepts the same batch later. Source: OTLP 1.x, section Retryable responses. */
const retryable: ReadonlySet<number> = new Set([429, 502, 503, 504])

export function createExportQueue(options: Options): ExportQueue {
  const { post, onProblem, maxItems = 10_000, maxSize = 16_000_000, gatherMs = 1_000, maxPauseMs = 30_000 } = options
  let items: string[] = []
  let size = 0
  let exported = 0
  let droppedByQueue = 0
  let droppedByCollector = 0
  let sending: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  const stopping = new AbortController()

  /** Sends one batch. Returns false when it should be sent again. */
  async function sendBatch(): Promise<boolean> {
    const batch = items.slice(0, maxBatch)
    const { status, problem } = await post(batch)
    const isAccepted = status !== undefined && status < 300
    if (!isAccepted) onProblem(problem ?? `the collector returned status ${status}`)
    if (status === undefined || retryable.has(status)) return false
    items = items.slice(batch.length)
    for (const item of batch) size -= item.length
    if (isAccepted) exported += batch.length
    else droppedByCollector += batch.length
    return true
  }

  async function sendAll(): Promise<void> {
    let pauseMs = gatherMs
    while (items.length > 0) {
      if (await sendBatch()) {
        pauseMs = gatherMs
        continue
      }
      if (stopping.signal.aborted) return
      await pause(pauseMs, stopping.signal)
      pauseMs = Math.min(maxPauseMs, pauseMs * 2)
    }
  }

  function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    sending ??= sendAll().finally(() => {
      sending = undefined
    })
    return sending
  }

  return {
    add(item) {
      if (stopping.signal.aborted || items.length >= maxItems || size + item.length > maxSize) {
        droppedByQueue++
        return
      }
      items.push(item)
      size += item.length
      if (sending) return
      if (items.length >= maxBatch) void flush()
      else timer ??= setTimeout(() => void flush(), gatherMs).unref()
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
      droppedByQueue += items.length
      items = []
    },
  }
}
