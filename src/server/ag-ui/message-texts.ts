import type { AgUiEvent } from './events.ts'

/**
 * Texts of answers as far as a stream has sent them, by the id of their event. What was sent cannot be taken back: a text that turns
 * out not to be part of the conversation is closed and reported as dropped.
 */
export class MessageTexts {
  readonly #sent = new Map<string, string>()
  /** Answers that the log has; pieces of them may come later. */
  readonly #stored = new Set<string>()

  /** Announces an answer of which nothing was generated before. */
  begin(id: string): void {
    if (!this.#stored.has(id)) this.#sent.set(id, '')
  }

  /** Returns the events of the next piece; none when the start of the answer was missed. */
  add(id: string, text: string): AgUiEvent[] {
    const sent = this.#sent.get(id)
    if (sent === undefined || text === '') return []
    this.#sent.set(id, sent + text)
    return [...(sent === '' ? [started(id)] : []), content(id, text)]
  }

  /** Returns the events of the whole text, without what was sent. */
  end(id: string, text: string): AgUiEvent[] {
    const sent = this.#sent.get(id) ?? ''
    this.#sent.delete(id)
    this.#stored.add(id)
    if (sent === '') return text === '' ? [] : [started(id), content(id, text), ended(id)]
    if (text.startsWith(sent)) {
      const rest = text.slice(sent.length)
      return [...(rest === '' ? [] : [content(id, rest)]), ended(id)]
    }
    const other = `${id}${secondSuffix}`
    return [ended(id), dropped(id), started(other), content(other, text), ended(other)]
  }

  /** Closes the answers that will not be stored: a request failed or was stopped. */
  drop(): AgUiEvent[] {
    const open = [...this.#sent].filter(([, sent]) => sent !== '').map(([id]) => id)
    this.#sent.clear()
    return open.flatMap(id => [ended(id), dropped(id)])
  }
}

/** Ends the id of a text that replaces what was sent of it. */
const secondSuffix = '-2'

/** Returns the id of the event that a message of the agent comes from. */
export const eventOfMessage = (messageId: string): string =>
  messageId.endsWith(secondSuffix) ? messageId.slice(0, -secondSuffix.length) : messageId

const started = (messageId: string): AgUiEvent => ({ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' })
const content = (messageId: string, delta: string): AgUiEvent => ({ type: 'TEXT_MESSAGE_CONTENT', messageId, delta })
const ended = (messageId: string): AgUiEvent => ({ type: 'TEXT_MESSAGE_END', messageId })
const dropped = (messageId: string): AgUiEvent => ({ type: 'CUSTOM', name: 'message_dropped', value: { messageId } })
