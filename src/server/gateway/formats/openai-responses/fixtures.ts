import { encodedAnswer } from '../../../../../test/support/upstream/encoded-answer.ts'
import { plainContext, sentUpstream } from '../../../../../test/support/upstream/sent-upstream.ts'
import type { Json } from '../../../platform/json.ts'
import type { UpstreamEvent } from '../../core/answer-event.ts'
import type { CanonicalRequest, CodecContext, UpstreamFrame } from '../../core/codec.ts'
import { openaiResponses } from './codec.ts'

/** Returns a context with readable reasoning signatures: `sealed:` and the state. */
export const contextOf = (changes: Partial<CodecContext> = {}): CodecContext => ({
  deployment: { id: 'd1', provider: 'openai', apiBase: 'https://upstream.test/v1' },
  upstreamModel: 'gpt-5.5',
  ...plainContext,
  ...changes,
})

/** Returns the upstream request for `request`. */
export const sent = (request: CanonicalRequest, changes: Partial<CodecContext> = {}) =>
  sentUpstream(openaiResponses, request, contextOf(changes))

/** Returns the input items for `messages`. */
export const inputOf = (messages: readonly Json[], changes: Partial<CodecContext> = {}): readonly Json[] =>
  sent({ messages }, changes).body['input'] as readonly Json[]

/** Returns a frame with an event of the upstream. */
export const frame = (body: Json): UpstreamFrame => ({ event: String(body['type']), data: JSON.stringify(body) })

/** Returns the decoder's events for a complete stream. */
export function decoded(frames: readonly UpstreamFrame[]): readonly UpstreamEvent[] {
  const decoder = openaiResponses.decoder(contextOf())
  return [...frames.flatMap(one => [...decoder.push(one)]), ...decoder.end()]
}

/** Returns what a client reads of `events`. `sse` is undefined for a stream without an end. */
export function read(events: readonly UpstreamEvent[]) {
  const { stream, hasEnded, ...answer } = encodedAnswer(events)
  return { ...answer, sse: hasEnded ? stream : undefined }
}

/** Output item of an answer, with its text in the pieces that the upstream sends. */
export type ScriptedItem =
  | { readonly kind: 'text'; readonly pieces: readonly string[]; readonly annotations?: readonly Json[] }
  | { readonly kind: 'refusal'; readonly pieces: readonly string[] }
  | { readonly kind: 'call'; readonly id: string; readonly name: string; readonly pieces: readonly string[] }
  | { readonly kind: 'reasoning'; readonly summaries: readonly (readonly string[])[]; readonly encrypted?: string }

const usage = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 60 },
  output_tokens: 30,
  output_tokens_details: { reasoning_tokens: 20 },
  total_tokens: 130,
}

/** Returns a response with the items as its output. */
export const responseOf = (items: readonly ScriptedItem[], changes: Json = {}): Json => ({
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  model: 'gpt-5.5-2026-04-23',
  error: null,
  incomplete_details: null,
  output: items.map(itemOf),
  usage,
  ...changes,
})

/** Returns the complete item, as in `output_item.done` and in the response. */
export function itemOf(scripted: ScriptedItem, index: number): Json {
  switch (scripted.kind) {
    case 'text':
    case 'refusal':
      return {
        id: `msg_${index}`,
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [partOf(scripted)],
      }
    case 'call': {
      const { id, name, pieces } = scripted
      return { id: `fc_${index}`, type: 'function_call', call_id: id, name, arguments: pieces.join('') }
    }
    case 'reasoning': {
      const summary = scripted.summaries.map(pieces => ({ type: 'summary_text', text: pieces.join('') }))
      return { id: `rs_${index}`, type: 'reasoning', summary, encrypted_content: scripted.encrypted ?? null }
    }
  }
}

type ScriptedText = Extract<ScriptedItem, { readonly kind: 'text' | 'refusal' }>

function partOf(scripted: ScriptedText): Json {
  const text = scripted.pieces.join('')
  if (scripted.kind === 'refusal') return { type: 'refusal', refusal: text }
  return { type: 'output_text', text, annotations: scripted.annotations ?? [] }
}

/** Returns the complete stream of a response, in the upstream's order. */
export function streamOf(items: readonly ScriptedItem[], changes: Json = {}): readonly UpstreamFrame[] {
  const response = responseOf(items, changes)
  const head = { ...response, status: 'in_progress', output: [], usage: null }
  return [
    frame({ type: 'response.created', response: head }),
    frame({ type: 'response.in_progress', response: head }),
    ...items.flatMap(framesOf),
    frame({ type: `response.${response['status']}`, response }),
  ]
}

/** Returns the frames of one item. */
export function framesOf(scripted: ScriptedItem, index: number): readonly UpstreamFrame[] {
  const item = itemOf(scripted, index)
  const place = { item_id: item['id'], output_index: index }
  const empty = { ...item, ...emptied(scripted) }
  return [
    frame({ type: 'response.output_item.added', output_index: index, item: empty }),
    ...pieceFrames(scripted, place),
    frame({ type: 'response.output_item.done', output_index: index, item }),
  ]
}

function emptied(scripted: ScriptedItem): Json {
  if (scripted.kind === 'call') return { arguments: '' }
  return scripted.kind === 'reasoning' ? { summary: [], encrypted_content: 'partial' } : { content: [] }
}

function pieceFrames(scripted: ScriptedItem, place: Json): readonly UpstreamFrame[] {
  switch (scripted.kind) {
    case 'text':
    case 'refusal': {
      const at = { ...place, content_index: 0 }
      const part = partOf(scripted)
      const kind = scripted.kind === 'text' ? 'output_text' : 'refusal'
      const text = part['text'] ?? part['refusal']
      return [
        frame({ type: 'response.content_part.added', ...at, part: { ...part, text: '', refusal: '' } }),
        ...scripted.pieces.map(delta => frame({ type: `response.${kind}.delta`, ...at, delta })),
        frame({ type: `response.${kind}.done`, ...at, text, refusal: text }),
        frame({ type: 'response.content_part.done', ...at, part }),
      ]
    }
    case 'call': {
      const type = 'response.function_call_arguments'
      const deltas = scripted.pieces.map(delta => frame({ type: `${type}.delta`, ...place, delta }))
      return [...deltas, frame({ type: `${type}.done`, ...place, arguments: scripted.pieces.join('') })]
    }
    case 'reasoning':
      return scripted.summaries.flatMap((pieces, summary_index) => {
        const type = 'response.reasoning_summary_text'
        const deltas = pieces.map(delta => frame({ type: `${type}.delta`, ...place, summary_index, delta }))
        return [
          frame({ type: 'response.reasoning_summary_part.added', ...place, summary_index }),
          ...deltas,
          frame({ type: `${type}.done`, ...place, summary_index, text: pieces.join('') }),
        ]
      })
  }
}
