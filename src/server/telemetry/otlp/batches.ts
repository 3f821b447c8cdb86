/** How the items of a request are written: `start`, then the items with `separator` between them, then `end`. */
export interface Frame {
  readonly start: string
  readonly separator: string
  readonly end: string
}

/** Items in the bytes of one request. */
export interface Batch {
  readonly items: number
  /** Number of bytes of the whole request. */
  readonly size: number
  /** Returns the whole request. Valid until `Batches.reuse`. */
  body(): Buffer
}

/** Writes items into bytes. A text per item would be copied with every collection of garbage until it is sent. */
export interface Batches {
  /** Writes an item and returns the batch that has become full with it. */
  add(item: string): Batch | undefined
  /** Returns what was written since the last full batch, and begins a new one; undefined without items. */
  take(): Batch | undefined
  /** Number of bytes of the items that are in no full batch. */
  readonly size: number
  readonly items: number
  /** Uses the memory of a batch again that was sent. */
  reuse(batch: Batch): void
}

/** The default of OpenTelemetry’s batch processors. */
const maxItems = 512
const capacity = 1_000_000
/** Memory that is kept for later batches. */
const maxSpare = 2

export function createBatches({ start, separator, end }: Frame): Batches {
  const spare: Buffer[] = []
  const memoryOf = new WeakMap<Batch, Buffer>()
  let memory: Buffer = Buffer.alloc(0)
  let length = 0
  let items = 0

  function begin(least: number): void {
    const needed = least + Buffer.byteLength(start) + Buffer.byteLength(end)
    memory = needed <= capacity ? (spare.pop() ?? Buffer.allocUnsafeSlow(capacity)) : Buffer.allocUnsafeSlow(needed)
    length = memory.write(start)
  }

  function take(): Batch | undefined {
    if (items === 0) return undefined
    const full = memory
    const size = length + full.write(end, length)
    const batch: Batch = { items, size, body: () => full.subarray(0, size) }
    memoryOf.set(batch, full)
    memory = Buffer.alloc(0)
    length = 0
    items = 0
    return batch
  }

  return {
    add(item) {
      // At most three bytes for each unit of a text.
      const most = item.length * 3 + separator.length + end.length
      const full = items > 0 && length + most > memory.length ? take() : undefined
      if (items === 0) begin(most)
      else length += memory.write(separator, length)
      length += memory.write(item, length)
      items++
      return full ?? (items >= maxItems ? take() : undefined)
    },
    take,
    get size() {
      return length
    },
    get items() {
      return items
    },
    reuse(batch) {
      const free = memoryOf.get(batch)
      if (free?.length === capacity && spare.length < maxSpare) spare.push(free)
      memoryOf.delete(batch)
    },
  }
}
