import type { Notifications } from '../../db/notifications.ts'
import { every } from '../../platform/timers.ts'

/** Part of an answer that is still being generated. Never stored; the event with the same id replaces it. */
export type Preview =
  | { readonly type: 'event_start'; readonly event: { readonly id: string; readonly type: 'agent.message' } }
  | {
      readonly type: 'event_delta'
      readonly event_id: string
      readonly delta: {
        readonly type: 'content_delta'
        readonly content: { readonly type: 'text'; readonly text: string }
      }
    }

interface Deps {
  readonly notifications: Notifications
  /** Identifies this process, so that it ignores its own notifications. */
  readonly owner: string
  /** Returns the sessions with preview readers in this process. */
  readonly watched: () => Iterable<string>
  /** Returns the texts so far of the answers that this process is generating, by event id. */
  readonly generated: (sessionId: string) => ReadonlyMap<string, string>
  /** Delivers a preview of another process to the readers of this one. */
  readonly deliver: (sessionId: string, preview: Preview) => void
}

interface Message {
  readonly owner: string
  /** The only process that takes it; all when absent. */
  readonly to?: string | undefined
  readonly session_id: string
  readonly preview: Preview
}

/** Interval at which this process announces its interest in previews. */
const announceMs = 5_000
/** An announcement expires after this time. */
const interestMs = 15_000
/** A notification must stay below 8,000 bytes, and a character takes up to 6 bytes as JSON. */
const maxChars = 1_200
/** Longest text that a process gets which begins to read in the middle of it; the stored event has it all. */
const maxMissedChars = 100_000

/**
 * Exchanges previews between processes. Text is sent over NOTIFY only while another process announces interest, so a
 * single server sends none. A process that begins to read in the middle of an answer first gets its text so far.
 */
export class RemotePreviews {
  readonly #deps: Deps
  /** End of the interest of other processes, by session and process. */
  readonly #interest = new Map<string, Map<string, number>>()
  readonly #stopAnnouncing: () => Promise<void>

  constructor(deps: Deps) {
    this.#deps = deps
    deps.notifications.on('session_watch', payload => this.#onInterest(payload))
    deps.notifications.on('session_preview', payload => this.#onPreview(payload))
    this.#stopAnnouncing = every(announceMs, async () => {
      for (const sessionId of deps.watched()) this.announce(sessionId)
      for (const sessionId of this.#interest.keys()) this.#dropExpired(sessionId)
    })
  }

  /** Announces that this process has readers of the session. `isFirst`: it has had none, so it lacks the texts so far. */
  announce(sessionId: string, { isFirst = false } = {}): void {
    this.#deps.notifications.send('session_watch', `${this.#deps.owner} ${sessionId}${isFirst ? ' first' : ''}`)
  }

  /** Sends a preview to interested processes, if there are any. */
  send(sessionId: string, preview: Preview): void {
    if (!this.#interest.has(sessionId)) return
    this.#dropExpired(sessionId)
    if (this.#interest.has(sessionId)) this.#notify(sessionId, preview)
  }

  stop(): Promise<void> {
    return this.#stopAnnouncing()
  }

  #dropExpired(sessionId: string): void {
    const processes = this.#interest.get(sessionId)
    for (const [owner, until] of processes ?? []) if (until < performance.now()) processes?.delete(owner)
    if (processes?.size === 0) this.#interest.delete(sessionId)
  }

  #notify(sessionId: string, preview: Preview, to?: string): void {
    for (const part of partsOf(preview)) {
      const message: Message = { owner: this.#deps.owner, to, session_id: sessionId, preview: part }
      this.#deps.notifications.send('session_preview', JSON.stringify(message))
    }
  }

  #onInterest(payload: string): void {
    const [owner = '', sessionId = '', first] = payload.split(' ')
    if (owner === this.#deps.owner) return
    this.#dropExpired(sessionId)
    const processes = this.#interest.get(sessionId) ?? new Map<string, number>()
    this.#interest.set(sessionId, processes)
    if (first || !processes.has(owner)) this.#sendMissed(sessionId, owner)
    processes.set(owner, performance.now() + interestMs)
  }

  #sendMissed(sessionId: string, to: string): void {
    for (const [id, text] of this.#deps.generated(sessionId)) {
      if (text.length > maxMissedChars) continue
      for (const preview of previewsOf(id, text)) this.#notify(sessionId, preview, to)
    }
  }

  #onPreview(payload: string): void {
    const { owner, to, session_id, preview } = JSON.parse(payload) as Message
    const isForThis = to === undefined || to === this.#deps.owner
    if (owner !== this.#deps.owner && isForThis) this.#deps.deliver(session_id, preview)
  }
}

/** Returns an answer with its text so far. */
export const previewsOf = (id: string, text: string): readonly Preview[] => [
  { type: 'event_start', event: { id, type: 'agent.message' } },
  deltaOf(id, text),
]

export const deltaOf = (id: string, text: string): Extract<Preview, { type: 'event_delta' }> => ({
  type: 'event_delta',
  event_id: id,
  delta: { type: 'content_delta', content: { type: 'text', text } },
})

/** Splits a preview into ones that fit into a notification. */
function* partsOf(preview: Preview): Generator<Preview> {
  if (preview.type === 'event_start') return yield preview
  const { text } = preview.delta.content
  for (let at = 0; at < text.length; at += maxChars) yield deltaOf(preview.event_id, text.slice(at, at + maxChars))
}
