import { isRecord, type Json, nonEmptyText } from '../../../platform/json.ts'
import type { CodecContext } from '../../core/codec.ts'
import { hasCallIds, type ReasoningState, readState, recallCall } from './carried-state.ts'
import type { Losses, ModelTraits } from './traits.ts'
import type { Placed } from './write-media.ts'

/** What the model said between two turns of the user. */
export interface ModelTurn {
  readonly role: 'model'
  readonly parts: Json[]
  readonly calls: { readonly id: string; readonly name: string }[]
}

interface Options {
  readonly context: CodecContext
  readonly traits: ModelTraits
  readonly losses: Losses
}

/** Google's documented word for a call whose signature is not known. */
const unknownSignature = 'skip_thought_signature_validator'

/** An assistant message as a turn, or at the end of `before`, which is then returned. */
export function modelTurn(blocks: readonly Omit<Placed, 'losses'>[], options: Options, before?: ModelTurn): ModelTurn {
  const turn: ModelTurn = before ?? { role: 'model', parts: [], calls: [] }
  const writer = new TurnWriter(turn, options)
  for (const placed of blocks) writer.add(placed)
  return turn
}

class TurnWriter {
  readonly #turn: ModelTurn
  readonly #options: Options
  /** Where this message's own parts begin: a signature never goes to another message. */
  readonly #from: number
  #callSignature: string | undefined

  constructor(turn: ModelTurn, options: Options) {
    this.#turn = turn
    this.#options = options
    this.#from = turn.parts.length
  }

  add({ block, path }: Omit<Placed, 'losses'>): void {
    const { losses } = this.#options
    losses.markCache(block)
    switch (block['type']) {
      case 'text':
        if (nonEmptyText(block['text']) !== undefined) this.#turn.parts.push({ text: block['text'] })
        break
      case 'thinking':
        this.#addThinking(block, path)
        break
      case 'tool_use':
        this.#addCall(block, path)
        break
      default:
        losses.note(path, 'dropped')
    }
  }

  #addThinking({ signature, thinking }: Json, path: string): void {
    const { context, traits, losses } = this.#options
    const sealed = nonEmptyText(signature)
    const { open, openOwn } = context.reasoning
    const opened = sealed === undefined ? undefined : traits.readsReasoning ? open(sealed) : openOwn(sealed)
    const state = opened === undefined ? undefined : readState(opened)
    if (state) this.#restore(state, nonEmptyText(thinking) ?? '')
    else losses.note(path, 'dropped')
  }

  #restore(state: ReasoningState, thought: string): void {
    const { parts } = this.#turn
    switch (state.at) {
      case 'part':
        parts.push(state.part)
        break
      case 'thought':
        if (thought !== '' || state.signature !== undefined) {
          parts.push(signed({ text: thought, thought: true }, state.signature))
        }
        this.#callSignature = state.call
        break
      case 'text':
        this.#signText(state.signature)
    }
  }

  #signText(signature: string): void {
    const { parts } = this.#turn
    const last = parts.length > this.#from ? parts.at(-1) : undefined
    const isPlainText = last !== undefined && 'text' in last && !('thought' in last) && !('thoughtSignature' in last)
    if (isPlainText) parts[parts.length - 1] = signed(last, signature)
    else parts.push(signed({ text: '' }, signature))
  }

  #addCall({ id, name, input }: Json, path: string): void {
    const { context } = this.#options
    const callId = nonEmptyText(id) ?? ''
    const called = nonEmptyText(name) ?? ''
    const signature = this.#signatureFor(callId, path)
    const args = isRecord(input) ? input : {}
    const sentId = hasCallIds(context) && callId !== '' ? { id: callId } : {}
    this.#turn.parts.push(signed({ functionCall: { ...sentId, name: called, args } }, signature))
    this.#turn.calls.push({ id: callId, name: called })
  }

  #signatureFor(id: string, path: string): string | undefined {
    const { context, traits, losses } = this.#options
    const carried = this.#callSignature
    this.#callSignature = undefined
    const own = carried ?? recallCall(context, id, traits.readsReasoning)
    if (own !== undefined || !traits.needsCallSignatures || this.#turn.calls.length > 0) return own
    losses.note(path, 'signature_skipped')
    return unknownSignature
  }
}

const signed = (part: Json, signature: string | undefined): Json =>
  signature === undefined ? part : { ...part, thoughtSignature: signature }
