import type { SendHint } from './hints.ts'

interface Deps {
  /** Passes a hint to the listeners of this process. */
  readonly deliver: SendHint
  /** False while no other process listens. */
  readonly hasPeers: () => boolean
  /** Sends notifications in one statement. Resolves even if it failed. */
  readonly notify: (channels: readonly string[], payloads: readonly string[]) => Promise<void>
}

/** Batches of hints. */
export interface HintBatches {
  readonly send: SendHint
  /** Returns the hints of a received notification. */
  readonly split: (payload: string) => readonly string[]
}

/** PostgreSQL limits a notification to less than 8,000 bytes. */
const maxBytes = 7_900
/** Maximum hints that wait for the previous statement. Receivers find the effect of dropped ones by polling. */
const maxWaiting = 10_000
/** ASCII record separator, which ids, numbers and JSON do not contain. */
const separator = '\x1e'

/**
 * Sends hints in batches: one statement for all hints of an event loop turn, or of the duration of the previous
 * statement. Equal hints are sent once.
 */
export function createHintBatches({ deliver, hasPeers, notify }: Deps): HintBatches {
  let fresh: [channel: string, payload: string][] = []
  const waiting = new Map<string, Set<string>>()
  let isSending = false

  function onTurn(): void {
    const hints = fresh
    fresh = []
    if (hasPeers()) for (const [channel, payload] of hints) enqueue(channel, payload)
    void sendWaiting()
    for (const [channel, payload] of hints) deliver(channel, payload)
  }

  function enqueue(channel: string, payload: string): void {
    const payloads = waiting.get(channel) ?? new Set()
    waiting.set(channel, payloads)
    if (payloads.size < maxWaiting) payloads.add(payload)
  }

  async function sendWaiting(): Promise<void> {
    if (isSending) return
    isSending = true
    while (waiting.size > 0) {
      const batches = [...waiting].flatMap(([channel, payloads]) =>
        packed(payloads).map(payload => [channel, payload] as const),
      )
      waiting.clear()
      await notify(
        batches.map(([channel]) => channel),
        batches.map(([, payload]) => payload),
      )
    }
    isSending = false
  }

  return {
    send(channel, payload) {
      // After this turn, so that the writer can act on its change first: it knows more than the hint.
      if (fresh.push([channel, payload]) === 1) setImmediate(onTurn)
    },
    split: payload => payload.split(separator),
  }
}

/** Packs payloads into as few notifications as possible; drops payloads that are too long. */
function packed(payloads: Iterable<string>): readonly string[] {
  const texts: string[] = []
  let room = 0
  for (const payload of payloads) {
    const bytes = Buffer.byteLength(payload) + separator.length
    if (bytes > maxBytes) continue
    if (bytes <= room) texts.push(`${texts.pop()}${separator}${payload}`)
    else {
      texts.push(payload)
      room = maxBytes
    }
    room -= bytes
  }
  return texts
}
