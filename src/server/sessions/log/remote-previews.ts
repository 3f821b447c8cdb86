import type { Notifications } from '../../db/notifications.ts'
import { every } from '../../platform/timers.ts'

/** A part of an answer that is still being written. Never stored; the event of the same id replaces it. */
export interface Preview {
  readonly type: 'event_start' | 'event_delta'
  readonly [field: string]: unknown
}

interface Deps {
  readonly notifications: Notifications
  /** Names this process, so that it does not hear itself. */
  readonly owner: string
  /** Sessions whose previews somebody in this process wants. */
  readonly watched: () => Iterable<string>
  /** Hands a preview from another process to the readers of this one. */
  readonly deliver: (sessionId: string, preview: Preview) => void
}

/** Tells other processes that previews are wanted here. */
const announceMs = 5_000
/** After this long without a word nobody elsewhere is assumed to watch. */
const interestMs = 15_000
/** A notification must stay below 8,000 bytes; a longer preview is left out, the stored event has it all. */
const maxPayloadBytes = 7_500

/**
 * Previews between processes. Text is sent over NOTIFY only while another process has said that somebody watches there, so
 * that a lone server sends none.
 */
export class RemotePreviews {
  readonly #deps: Deps
  readonly #interest = new Map<string, number>()
  readonly #stopAnnouncing: () => Promise<void>

  constructor(deps: Deps) {
    this.#deps = deps
    deps.notifications.on('session_watch', payload => this.#hearInterest(payload))
    deps.notifications.on('session_preview', payload => this.#hearPreview(payload))
    this.#stopAnnouncing = every(announceMs, async () => {
      for (const sessionId of deps.watched()) this.announce(sessionId)
    })
  }

  /** Says that somebody here watches the session. */
  announce(sessionId: string): void {
    this.#deps.notifications.send('session_watch', `${this.#deps.owner} ${sessionId}`)
  }

  /** Sends a preview to those processes that asked, if any did. */
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

  #hearInterest(payload: string): void {
    const [owner, sessionId = ''] = payload.split(' ')
    if (owner !== this.#deps.owner) this.#interest.set(sessionId, performance.now() + interestMs)
  }

  #hearPreview(payload: string): void {
    const { owner, session_id, preview } = JSON.parse(payload) as {
      owner: string
      session_id: string
      preview: Preview
    }
    if (owner !== this.#deps.owner) this.#deps.deliver(session_id, preview)
  }
}
