import { createHash } from 'node:crypto'
import { newId } from '../../platform/ids.ts'
import type { Json } from '../../platform/json.ts'
import { textAfter } from './parts.ts'

/** Longest text of an artifact or a message, in characters; the rest is dropped with a note. */
export const maxTextLength = 1024 * 1024

export const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16)

/** Returns the text with a note of how many characters were dropped after it. */
export const withDropped = (text: string, dropped: number): string =>
  dropped > 0 ? `${text}\n[truncated: ${dropped} characters]` : text

/** The part of an artifact's text that the log has: so many characters, with that digest. */
interface LoggedText {
  readonly length: number
  readonly digest: string
}

/** Returns the `source_event_id` of a message with an artifact's text. It says how much of the text the log then has. */
const sourceOf = (artifact: string, { length, digest }: LoggedText): string => `${artifact}@${length}.${digest}`

/** Reads the `source_event_id` of such a message; undefined for that of another one. */
export function loggedIn(source: string): { readonly artifact: string; readonly logged: LoggedText } | undefined {
  const [, artifact, length, digest] = /^(.+)@(\d{1,10})\.([0-9a-f]{16})$/s.exec(source) ?? []
  return artifact === undefined || digest === undefined
    ? undefined
    : { artifact, logged: { length: Number(length), digest } }
}

/** A part of the text that becomes a message. */
interface Unlogged {
  readonly id: string
  readonly text: string
  readonly source: string
}

/** Text of one artifact of the running task, which arrives in pieces or again as a whole. */
export class ArtifactText {
  readonly #artifact: string
  #text = ''
  #isOpen = true
  #dropped = 0
  #logged: LoggedText | undefined
  /** Id of the message that is being written, and how much of the text readers have seen. */
  #eventId = newId('evt')
  #shown = 0

  /** `logged` is what an earlier process has logged of it. */
  constructor(artifact: string, logged: LoggedText | undefined) {
    this.#artifact = artifact
    this.#logged = logged
  }

  get length(): number {
    return this.#text.length
  }

  get text(): string {
    return this.#text
  }

  /** Replaces the text, and returns what to preview of it. */
  replace(parts: readonly Json[]): Preview | undefined {
    const { text, isOpen } = textAfter({ isEmpty: true, isOpen: true }, parts)
    const before = this.#text
    this.#text = text.slice(0, maxTextLength)
    this.#dropped = text.length - this.#text.length
    this.#isOpen = isOpen
    // Another text cannot continue the message that readers have begun to see.
    if (before === '' || !this.#text.startsWith(before)) {
      this.#eventId = newId('evt')
      this.#shown = this.#loggedLength()
    }
    return this.#preview(this.#text.slice(this.#shown))
  }

  /** Adds a piece, and returns what to preview of it. */
  append(parts: readonly Json[]): Preview | undefined {
    const { text, isOpen } = textAfter({ isEmpty: this.#text === '', isOpen: this.#isOpen }, parts)
    const piece = text.slice(0, maxTextLength - this.#text.length)
    this.#text += piece
    this.#dropped += text.length - piece.length
    this.#isOpen = isOpen
    return this.#preview(piece)
  }

  /** Returns the part of the text that is not logged, and counts it as logged; undefined when there is none. */
  takeUnlogged(): Unlogged | undefined {
    const text = this.#text.slice(this.#loggedLength())
    if (text.trim() === '') return undefined
    this.#logged = { length: this.#text.length, digest: digestOf(this.#text) }
    const id = this.#eventId
    this.#eventId = newId('evt')
    return { id, text: withDropped(text, this.#dropped), source: sourceOf(this.#artifact, this.#logged) }
  }

  #preview(text: string): Preview | undefined {
    this.#shown += text.length
    return text === '' ? undefined : { eventId: this.#eventId, text }
  }

  /** Returns how much of the text the log has; 0 when it has another text. */
  #loggedLength(): number {
    const { length = 0, digest } = this.#logged ?? {}
    return this.#text.length >= length && digest === digestOf(this.#text.slice(0, length)) ? length : 0
  }
}

/** Text of a message that is being written. */
export interface Preview {
  readonly eventId: string
  readonly text: string
}
