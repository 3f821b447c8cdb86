const lf = 0x0a
const cr = 0x0d
const nothing = Buffer.alloc(0)

/** Cuts a byte stream of server-sent events where its frames end. */
export interface FrameCutter {
  /** Takes the next bytes; returns those that may go out now, in order. */
  push(chunk: Buffer): readonly Buffer[]
  /** The bytes that still wait for the rest of their frame. */
  flush(): readonly Buffer[]
  /** True when all that was returned so far ends with a whole frame. */
  readonly isBetweenFrames: boolean
}

/**
 * Passes on server-sent events in whole frames. The tail of a frame that is still coming is held, since no reader can
 * use it yet: so a break can be told in a clean frame of its own, and a ping fits in at any time. A frame longer than
 * `maxHeldBytes` is passed on in parts. No byte is changed or lost.
 */
export function createFrameCutter(maxHeldBytes = 64 * 1024): FrameCutter {
  let held: Buffer[] = []
  let heldBytes = 0
  let isBetweenFrames = true
  /** The last two bytes before the chunk at hand: a frame's end may be cut in between. */
  let before: readonly [number, number] = [0, 0]

  const release = (rest: Buffer): readonly Buffer[] => {
    const ready = rest.length === 0 ? held : held.length === 0 ? [rest] : [...held, rest]
    held = []
    heldBytes = 0
    return ready
  }

  return {
    get isBetweenFrames() {
      return isBetweenFrames
    },
    push(chunk) {
      const end = lastFrameEnd(before, chunk)
      before = lastTwo(before, chunk)
      const ready = end > 0 ? release(end === chunk.length ? chunk : chunk.subarray(0, end)) : []
      if (end > 0) isBetweenFrames = true
      if (end === chunk.length) return ready
      const tail = chunk.subarray(end)
      held.push(tail)
      heldBytes += tail.length
      if (heldBytes <= maxHeldBytes) return ready
      isBetweenFrames = false
      return [...ready, ...release(nothing)]
    },
    flush: () => release(nothing),
  }
}

/** The place after the last empty line of `chunk`, 0 without one. Lines end with LF, CRLF or CR. */
function lastFrameEnd(before: readonly [number, number], chunk: Buffer): number {
  const byteAt = (at: number) => (at >= 0 ? chunk[at] : before[at + 2])
  for (let at = chunk.length - 1; at >= 0; at--) {
    const byte = chunk[at]
    if (byte !== lf && byte !== cr) continue
    const previous = byteAt(at - 1)
    if (previous === byte) return at + 1
    if (byte === lf && previous === cr && byteAt(at - 2) === lf) return at + 1
  }
  return 0
}

function lastTwo(before: readonly [number, number], chunk: Buffer): readonly [number, number] {
  if (chunk.length >= 2) return [chunk[chunk.length - 2] ?? 0, chunk[chunk.length - 1] ?? 0]
  return chunk.length === 1 ? [before[1], chunk[0] ?? 0] : before
}
