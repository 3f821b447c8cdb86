import { isRecord, type Json, nonEmptyText } from '../../../platform/json.ts'
import type { CodecContext } from '../../core/codec.ts'
import { callSignatureFor, signaturePlaceholder } from '../shared/call-signatures.ts'
import { hasCallIds, type ReasoningState, readState } from './carried-state.ts'
import type { Degradations, ModelTraits } from './traits.ts'
import type { Placed } from './write-media.ts'

/** Turn of the model between two user turns. */
export interface ModelTurn {
  readonly role: 'model'
  readonly parts: Json[]
  readonly calls: { readonly id: string; readonly name: string }[]
}

interface Options {
  readonly context: CodecContext
  readonly traits: ModelTraits
  readonly degradations: Degradations
}

/** Converts an assistant message to a turn, or appends it to `before` and returns that. */
export function modelTurn(
  blocks: readonly Omit<Placed, 'degradations'>[],
  options: Options,
  before?: ModelTurn,
): ModelTurn {
  const turn: ModelTurn = before ?? { role: 'model', parts: [], calls: [] }
  const writer = new TurnWriter(turn, options)
  for (const placed of blocks) writer.add(placed)
  return turn
}

class TurnWriter {
  readonly #turn: ModelTurn
  readonly #options: Options
  /** Index of this message's first part. A signature must not be assigned to another message. */
  readonly #from: number
  #callSignature: string | undefined

  constructor(turn: ModelTurn, options: Options) {
    this.#turn = turn
    this.#options = options
    this.#from = turn.parts.length
  }

  add({ block, path }: Omit<Placed, 'degradations'>): void {
    const { degradations } = this.#options
    degradations.noteCacheMark(block)
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
        degradations.note(path, 'dropped')
    }
  }

  #addThinking({ signature, thinking }: Json, path: string): void {
    const { context, traits, degradations } = this.#options
    const given = nonEmptyText(signature)
    const { stateOf, ownStateOf } = context.reasoning
    const stateText = given === undefined ? undefined : traits.readsReasoning ? stateOf(given) : ownStateOf(given)
    const state = stateText === undefined ? undefined : readState(stateText)
    if (state) this.#restore(state, nonEmptyText(thinking) ?? '')
    else degradations.note(path, 'dropped')
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
    const functionName = nonEmptyText(name) ?? ''
    const signature = this.#signatureFor(callId, path)
    const args = isRecord(input) ? input : {}
    const sentId = hasCallIds(context) && callId !== '' ? { id: callId } : {}
    this.#turn.parts.push(signed({ functionCall: { ...sentId, name: functionName, args } }, signature))
    this.#turn.calls.push({ id: callId, name: functionName })
  }

  #signatureFor(id: string, path: string): string | undefined {
    const { context, traits, degradations } = this.#options
    const carried = this.#callSignature
    this.#callSignature = undefined
    const own = carried ?? callSignatureFor(context, id, traits.readsReasoning)
    if (own !== undefined || !traits.needsCallSignatures || this.#turn.calls.length > 0) return own
    degradations.note(path, 'signature_skipped')
    return signaturePlaceholder
  }
}

const signed = (part: Json, signature: string | undefined): Json =>
  signature === undefined ? part : { ...part, thoughtSignature: signature }
