/** What a request has before its items. */
export interface Frame {
  /** Returns the bytes before items of `length` bytes. */
  start(length: number): Buffer
}

/** Items in the bytes of one request. */
export interface Batch {
  readonly items: number
  /** Number of bytes of the whole request. */
  readonly size: number
  /** Returns the whole request. Valid until `Batches.reuse`. */
  body(): Buffer
}

/** Writes items into the bytes of requests. An object per item would be copied with every collection of garbage until it is sent. */
export interface Batches {
  /** Writes an item and returns the batch that has become full with it. */
  add(item: Uint8Array): Batch | undefined
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

export function createBatches({ start }: Frame): Batches {
  const room = start(2 ** 31).length
  const spare: Buffer[] = []
  const memoryOf = new WeakMap<Batch, Buffer>()
  let memory: Buffer = Buffer.alloc(0)
  let at = room
  let items = 0

  function begin(size: number): void {
    memory =
      room + size <= capacity ? (spare.pop() ?? Buffer.allocUnsafeSlow(capacity)) : Buffer.allocUnsafeSlow(room + size)
    at = room
  }

  function take(): Batch | undefined {
    if (items === 0) return undefined
    const [whole, end] = [memory, at]
    const before = start(end - room)
    const begin = room - before.length
    whole.set(before, begin)
    const batch: Batch = { items, size: end - begin, body: () => whole.subarray(begin, end) }
    memoryOf.set(batch, whole)
    memory = Buffer.alloc(0)
    at = room
    items = 0
    return batch
  }

  return {
    add(item) {
      const full = items > 0 && at + item.length > memory.length ? take() : undefined
      if (items === 0) begin(item.length)
      memory.set(item, at)
      at += item.length
      items++
      return full ?? (items >= maxItems ? take() : undefined)
    },
    take,
    get size() {
      return at - room
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
