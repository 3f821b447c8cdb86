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
  /** Delivers a preview of another process to the readers of this one. */
  readonly deliver: (sessionId: string, preview: Preview) => void
}

/** Interval at which this process announces its interest in previews. */
const announceMs = 5_000
/** An announcement expires after this time. */
const interestMs = 15_000
/**
 * A notification must stay below 8,000 bytes. A longer preview is dropped, since the stored event has the full text.
 */
const maxPayloadBytes = 7_500

/**
 * Exchanges previews between processes. Text is sent over NOTIFY only while another process announces interest, so a
 * single server sends none.
 */
export class RemotePreviews {
  readonly #deps: Deps
  readonly #interest = new Map<string, number>()
  readonly #stopAnnouncing: () => Promise<void>

  constructor(deps: Deps) {
    this.#deps = deps
    deps.notifications.on('session_watch', payload => this.#onInterest(payload))
    deps.notifications.on('session_preview', payload => this.#onPreview(payload))
    this.#stopAnnouncing = every(announceMs, async () => {
      for (const sessionId of deps.watched()) this.announce(sessionId)
    })
  }

  /** Announces that this process has readers of the session. */
  announce(sessionId: string): void {
    this.#deps.notifications.send('session_watch', `${this.#deps.owner} ${sessionId}`)
  }

  /** Sends a preview to interested processes, if there are any. */
  send(sessionId: string, preview: Preview): void {
    const until = this.#interest.get(sessionId)
    if (until === undefined) return
    if (until < performance.now()) {
      this.#interest.delete(sessionId)
      return
    }
    const payload = JSON.stringify({ owner: this.#deps.owner, session_id: sessionId, preview })
    if (Buffer.byteLength(payload) <= maxPayloadBytes) this.#deps.notifications.send('session_preview', payload)
  }

  stop(): Promise<void> {
    return this.#stopAnnouncing()
  }

  #onInterest(payload: string): void {
    const [owner, sessionId = ''] = payload.split(' ')
    if (owner !== this.#deps.owner) this.#interest.set(sessionId, performance.now() + interestMs)
  }

  #onPreview(payload: string): void {
    const { owner, session_id, preview } = JSON.parse(payload) as {
      owner: string
      session_id: string
      preview: Preview
    }
    if (owner !== this.#deps.owner) this.#deps.deliver(session_id, preview)
  }
}
