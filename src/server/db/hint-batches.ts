import type { SendHint } from './hints.ts'

interface Deps {
  /** Hands a hint to the listeners of this process. */
  readonly hear: SendHint
  /** False while no other process listens. */
  readonly hasPeers: () => boolean
  /** Sends notifications in one statement. Resolves also when they could not be sent. */
  readonly notify: (channels: readonly string[], payloads: readonly string[]) => Promise<void>
}

/** Hints on their way. */
export interface HintBatches {
  readonly send: SendHint
  /** The hints of a received notification. */
  readonly split: (payload: string) => readonly string[]
}

/** A notification holds less than 8,000 bytes. */
const maxBytes = 7_900
/** Of hints that wait for the statement before theirs. What is beyond that is found by those who look for themselves. */
const maxWaiting = 10_000
/** ASCII's own. Ids, numbers and JSON hold none. */
const separator = '\x1e'

/**
 * Hints leave in batches: all those of a turn of the event loop, or of the time that the statement before them took, are one
 * statement. Equal ones are sent once.
 */
export function createHintBatches({ hear, hasPeers, notify }: Deps): HintBatches {
  let fresh: [channel: string, payload: string][] = []
  const waiting = new Map<string, Set<string>>()
  let isSending = false

  function onTurn(): void {
    const news = fresh
    fresh = []
    if (hasPeers()) for (const [channel, payload] of news) keep(channel, payload)
    void sendWaiting()
    for (const [channel, payload] of news) hear(channel, payload)
  }

  function keep(channel: string, payload: string): void {
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
      // Whoever wrote what this tells of does what follows from it first: it has more than the hint.
      if (fresh.push([channel, payload]) === 1) setImmediate(onTurn)
    },
    split: payload => payload.split(separator),
  }
}

/** As few payloads as these fit into; one that is too long for any is left out. */
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
