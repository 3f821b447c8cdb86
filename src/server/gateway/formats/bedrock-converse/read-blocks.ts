import { isRecord, type Json, textOf } from '../../../platform/json.ts'
import type { UpstreamEvent } from '../../core/answer-event.ts'
import { baseModelOf } from '../../core/call.ts'
import type { CodecContext } from '../../core/codec.ts'
import { bedrockModel } from '../../upstream/bedrock.ts'
import { cleanId } from './conversion.ts'
import { writeState } from './reasoning.ts'

type Kind = 'text' | 'tool_use' | 'thinking' | 'redacted'

interface Open {
  readonly key: string
  readonly kind: Kind
  /** Signature of reasoning of models other than Claude. It is signed again when the block ends. */
  signature: string
  /** Parts of redacted reasoning, in base64. */
  readonly redacted: string[]
}

/** Converts the content blocks of a Converse stream to events. */
export class AnswerBlocks {
  readonly #context: CodecContext
  readonly #isClaude: boolean
  readonly #open = new Map<number, Open>()
  readonly #ids = new Map<string, number>()
  readonly #droppedKinds = new Set<string>()
  #count = 0

  constructor(context: CodecContext) {
    this.#context = context
    this.#isClaude = bedrockModel(baseModelOf(context)).family === 'claude'
  }

  /** Handles contentBlockStart. Only tool calls have one; other blocks begin with their first delta. */
  start(index: number, start: Json): readonly UpstreamEvent[] {
    const call = start['toolUse']
    if (isRecord(call)) {
      const ended = this.#endBefore(index)
      const { key } = this.#begin(index, 'tool_use')
      const name = textOf(call['name'])
      const block = { type: 'tool_use', id: this.#idOf(textOf(call['toolUseId'])), name } as const
      return [...ended, { type: 'block_start', key, block }]
    }
    return Object.keys(start).flatMap(kind => this.#dropped(kind))
  }

  delta(index: number, delta: Json): readonly UpstreamEvent[] {
    const { text, toolUse, reasoningContent } = delta
    if (typeof text === 'string') return text === '' ? [] : this.#write(index, 'text', text)
    if (isRecord(toolUse)) return this.#input(index, textOf(toolUse['input']))
    if (isRecord(reasoningContent)) return this.#reason(index, reasoningContent)
    return Object.keys(delta).flatMap(kind => this.#dropped(kind))
  }

  stop(index: number): readonly UpstreamEvent[] {
    const open = this.#open.get(index)
    if (!open) return []
    this.#open.delete(index)
    const stop: UpstreamEvent = { type: 'block_stop', key: open.key }
    if (open.kind === 'redacted') return this.#redacted(open)
    if (open.kind !== 'thinking' || this.#isClaude) return [stop]
    const state = open.signature === '' ? {} : { signature: open.signature }
    const signature = this.#context.reasoning.sign(writeState(state))
    return [{ type: 'block_signature', key: open.key, signature }, stop]
  }

  /** Ends all open blocks, in order. */
  close(): readonly UpstreamEvent[] {
    return [...this.#open.keys()].flatMap(index => this.stop(index))
  }

  /** Ends the blocks that must not be open when a block begins: any at this index, and all text and thinking. */
  #endBefore(index: number): readonly UpstreamEvent[] {
    const ending = [...this.#open].filter(([at, { kind }]) => at === index || kind !== 'tool_use')
    return ending.flatMap(([at]) => this.stop(at))
  }

  #begin(index: number, kind: Kind): Open {
    const open: Open = { key: `${index}.${this.#count++}`, kind, signature: '', redacted: [] }
    this.#open.set(index, open)
    return open
  }

  /** Returns the open block of that kind at the index, and the events that open it if needed. */
  #ensure(index: number, kind: 'text' | 'thinking' | 'redacted'): { open: Open; events: readonly UpstreamEvent[] } {
    const found = this.#open.get(index)
    if (found?.kind === kind) return { open: found, events: [] }
    const ended = this.#endBefore(index)
    const open = this.#begin(index, kind)
    // Redacted reasoning is written as a whole when it ends.
    if (kind === 'redacted') return { open, events: ended }
    return { open, events: [...ended, { type: 'block_start', key: open.key, block: { type: kind } }] }
  }

  #write(index: number, kind: 'text' | 'thinking', text: string): readonly UpstreamEvent[] {
    const { open, events } = this.#ensure(index, kind)
    return [...events, { type: 'block_delta', key: open.key, text }]
  }

  #input(index: number, text: string): readonly UpstreamEvent[] {
    const open = this.#open.get(index)
    if (open?.kind !== 'tool_use') return this.#dropped('toolUse')
    return text === '' ? [] : [{ type: 'block_delta', key: open.key, text }]
  }

  #reason(index: number, { text, signature, redactedContent }: Json): readonly UpstreamEvent[] {
    if (typeof text === 'string') return this.#write(index, 'thinking', text)
    if (typeof redactedContent === 'string') {
      const { open, events } = this.#ensure(index, 'redacted')
      open.redacted.push(redactedContent)
      return events
    }
    if (typeof signature !== 'string' || signature === '') return []
    const { open, events } = this.#ensure(index, 'thinking')
    if (this.#isClaude) return [...events, { type: 'block_signature', key: open.key, signature }]
    open.signature += signature
    return events
  }

  /** Writes redacted reasoning: Claude's as redacted_thinking, others' as the state of an empty thinking block. */
  #redacted({ key, redacted }: Open): readonly UpstreamEvent[] {
    const data = joinedBase64(redacted)
    if (this.#isClaude) return [{ type: 'block_start', key, block: { type: 'whole', block: redactedBlock(data) } }]
    const signature = this.#context.reasoning.sign(writeState({ redacted: data }))
    return [
      { type: 'block_start', key, block: { type: 'thinking' } },
      { type: 'block_signature', key, signature },
      { type: 'block_stop', key },
    ]
  }

  /** Returns an id that clients accept and that is unique in this answer. */
  #idOf(upstreamId: string): string {
    const id = cleanId(upstreamId === '' ? `call_${this.#ids.size}` : upstreamId)
    const uses = (this.#ids.get(id) ?? 0) + 1
    this.#ids.set(id, uses)
    return uses === 1 ? id : cleanId(`${id}_${uses}`)
  }

  #dropped(kind: string): readonly UpstreamEvent[] {
    if (this.#droppedKinds.has(kind)) return []
    this.#droppedKinds.add(kind)
    return [{ type: 'degraded', path: `answer.${kind}`, action: 'dropped' }]
  }
}

const redactedBlock = (data: string) => ({ type: 'redacted_thinking', data }) as const

/** Joins base64 parts. A single part is returned unchanged. */
function joinedBase64(parts: readonly string[]): string {
  const [only] = parts
  if (parts.length === 1 && only !== undefined) return only
  return Buffer.concat(parts.map(part => Buffer.from(part, 'base64'))).toString('base64')
}
