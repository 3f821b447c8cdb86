import type { ContextCompacted, NewEvent, SessionEvent } from '../../../../contract/events.ts'
import { type Block, type Entry, type Message, messagesOf, summaryOf, tokensOfBlock, trimmed } from './blocks.ts'

/** An event of the log, or one that this run adds to the conversation before it is read from there. */
export type ReadEvent = NewEvent & Partial<Pick<SessionEvent, 'seq' | 'processed_at'>>

/** Start of a model request; no tool call is open there. */
export interface Step {
  /** Sequence number of the event that starts it. */
  readonly seq: number
  /** Number of conversation entries before it. */
  readonly at: number
}

/** A tool result that a model has seen and that is not trimmed. */
export interface WholeResult {
  /** Id of its tool call. */
  readonly id: string
  readonly tokens: number
  /** Tokens saved by trimming it. */
  readonly saves: number
}

/** Returns the sequence number of an event; infinite when it is unknown. */
export const seqOf = ({ seq }: ReadEvent): number => seq ?? Number.POSITIVE_INFINITY

/** Content of a conversation as the next model request sends it, with its number of tokens. */
export class Transcript {
  #summary: Entry | undefined
  #entries: Entry[] = []
  #steps: Step[] = []
  /** Number of entries whose tool results are replaced with placeholders. */
  #trimmedTo = 0
  /** Tokens that the provider counted for the last request and its answer. */
  #counted: number | undefined
  /** Estimated tokens added since. */
  #since = 0
  #isAsCompacted = false

  /** Returns an independent copy. */
  copy(): Transcript {
    const copy = new Transcript()
    copy.#summary = this.#summary
    copy.#entries = [...this.#entries]
    copy.#steps = [...this.#steps]
    copy.#trimmedTo = this.#trimmedTo
    copy.#counted = this.#counted
    copy.#since = this.#since
    copy.#isAsCompacted = this.#isAsCompacted
    return copy
  }

  /** Messages of the next model request. */
  get messages(): Message[] {
    return this.messagesTo(this.#entries.length)
  }

  /** Returns the summary, if there is one, and the first `count` entries. */
  messagesTo(count: number): Message[] {
    const entries = this.#entries.slice(0, count).map(({ role }, at) => ({ role, block: this.#sent(at) }))
    return messagesOf(this.#summary ? [this.#summary, ...entries] : entries)
  }

  /** Number of blocks without the summary. */
  get size(): number {
    return this.#entries.length
  }

  /** Model requests since the last compaction, and those that it kept. */
  get steps(): readonly Step[] {
    return this.#steps
  }

  /** True when no entry was added since the last compaction. */
  get isAsCompacted(): boolean {
    return this.#isAsCompacted
  }

  /**
   * Returns the tokens of the next request: the count of the last one plus an estimate of the rest. `fixed` are those
   * of the system prompt and the tools.
   */
  tokens(fixed: number): number {
    if (this.#counted !== undefined) return this.#counted + this.#since
    return fixed + (this.#summary?.tokens ?? 0) + this.tokensFrom(0)
  }

  /** Estimates the tokens of the entries from `place` on. */
  tokensFrom(place: number): number {
    let tokens = 0
    for (let at = place; at < this.#entries.length; at++) tokens += this.#tokensAt(at)
    return tokens
  }

  /** Untrimmed tool results, oldest first. */
  get wholeResults(): readonly WholeResult[] {
    const seen = this.#entries.findLastIndex(({ role }) => role === 'assistant')
    return this.#entries.slice(this.#trimmedTo, Math.max(seen, 0)).flatMap(({ block, tokens }) => {
      if (block['type'] !== 'tool_result') return []
      return [{ id: String(block['tool_use_id']), tokens, saves: Math.max(0, tokens - tokensOfBlock(trimmed(block))) }]
    })
  }

  add(role: Message['role'], block: Block, event: ReadEvent): void {
    const tokens = tokensOfBlock(block)
    this.#entries.push({ role, block, seq: seqOf(event), tokens })
    this.#since += tokens
    this.#isAsCompacted = false
  }

  beginStep(event: ReadEvent): void {
    this.#steps.push({ seq: seqOf(event), at: this.#entries.length })
  }

  /** Replaces all tool results up to that of `toolUseId` with placeholders. */
  trimUntil(toolUseId: string): void {
    const end = this.#entries.findLastIndex(({ block }) => block['tool_use_id'] === toolUseId) + 1
    const before = this.tokensFrom(0)
    this.#trimmedTo = Math.max(this.#trimmedTo, end)
    this.#since -= before - this.tokensFrom(0)
  }

  /** Sets the tokens that the provider counted for the last request and its answer. */
  count(tokens: number): void {
    this.#counted = tokens
    this.#since = 0
  }

  compact({ summary, kept_from_seq: from }: ContextCompacted): void {
    const block = summaryOf(summary)
    const kept = this.#entries.filter(({ seq }) => seq >= from)
    const dropped = this.#entries.length - kept.length
    this.#summary = { role: 'user', block, seq: 0, tokens: tokensOfBlock(block) }
    this.#entries = kept
    this.#steps = this.#steps.filter(({ seq }) => seq >= from).map(({ seq, at }) => ({ seq, at: at - dropped }))
    this.#trimmedTo = Math.max(0, this.#trimmedTo - dropped)
    this.#counted = undefined
    this.#since = 0
    this.#isAsCompacted = true
  }

  #sent(at: number): Block {
    const block = this.#entries[at]?.block ?? {}
    return this.#isTrimmed(at) ? trimmed(block) : block
  }

  #tokensAt(at: number): number {
    const entry = this.#entries[at]
    if (!entry) return 0
    return this.#isTrimmed(at) ? tokensOfBlock(trimmed(entry.block)) : entry.tokens
  }

  /** A result that is shorter than its placeholder is not replaced. */
  #isTrimmed(at: number): boolean {
    const entry = this.#entries[at]
    if (at >= this.#trimmedTo || entry?.block['type'] !== 'tool_result') return false
    return tokensOfBlock(trimmed(entry.block)) < entry.tokens
  }
}
