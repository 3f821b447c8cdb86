import { encodedAnswer } from '../../../../../test/support/encoded-answer.ts'
import { plainContext, sentUpstream } from '../../../../../test/support/sent-upstream.ts'
import type { Json } from '../../../platform/json.ts'
import type { UpstreamEvent } from '../../core/answer-event.ts'
import type { CanonicalRequest, CodecContext, UpstreamFrame } from '../../core/codec.ts'
import { openaiResponses } from './codec.ts'

/** A context whose seal is readable: `sealed:` and the state. */
export const contextOf = (changes: Partial<CodecContext> = {}): CodecContext => ({
  deployment: { id: 'd1', provider: 'openai', apiBase: 'https://upstream.test/v1' },
  upstreamModel: 'gpt-5.5',
  ...plainContext,
  ...changes,
})

/** What goes upstream for `request`, as it arrives there. */
export const sent = (request: CanonicalRequest, changes: Partial<CodecContext> = {}) =>
  sentUpstream(openaiResponses, request, contextOf(changes))

/** The items of input for `messages`. */
export const inputOf = (messages: readonly Json[], changes: Partial<CodecContext> = {}): readonly Json[] =>
  sent({ messages }, changes).body['input'] as readonly Json[]

/** An event of the upstream as a frame. */
export const frame = (body: Json): UpstreamFrame => ({ event: String(body['type']), data: JSON.stringify(body) })

/** What the decoder says of a whole stream. */
export function decoded(frames: readonly UpstreamFrame[]): readonly UpstreamEvent[] {
  const decoder = openaiResponses.decoder(contextOf())
  return [...frames.flatMap(one => [...decoder.push(one)]), ...decoder.end()]
}

/** What a client reads of `events`; the stream only with its end. */
export function read(events: readonly UpstreamEvent[]) {
  const { stream, hasEnded, ...answer } = encodedAnswer(events)
  return { ...answer, wire: hasEnded ? stream : undefined }
}

/** One item of an answer, with its text in the pieces in which the upstream sends it. */
export type Spoken =
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

/** A response that has the items as its output. */
export const responseOf = (items: readonly Spoken[], changes: Json = {}): Json => ({
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

/** The whole item, as in `output_item.done` and in the response. */
export function itemOf(spoken: Spoken, index: number): Json {
  switch (spoken.kind) {
    case 'text':
    case 'refusal':
      return { id: `msg_${index}`, type: 'message', role: 'assistant', status: 'completed', content: [partOf(spoken)] }
    case 'call': {
      const { id, name, pieces } = spoken
      return { id: `fc_${index}`, type: 'function_call', call_id: id, name, arguments: pieces.join('') }
    }
    case 'reasoning': {
      const summary = spoken.summaries.map(pieces => ({ type: 'summary_text', text: pieces.join('') }))
      return { id: `rs_${index}`, type: 'reasoning', summary, encrypted_content: spoken.encrypted ?? null }
    }
  }
}

type Worded = Extract<Spoken, { readonly kind: 'text' | 'refusal' }>

function partOf(spoken: Worded): Json {
  const text = spoken.pieces.join('')
  if (spoken.kind === 'refusal') return { type: 'refusal', refusal: text }
  return { type: 'output_text', text, annotations: spoken.annotations ?? [] }
}

/** The stream of a response, as the upstream sends it: every event, in its order. */
export function streamOf(items: readonly Spoken[], changes: Json = {}): readonly UpstreamFrame[] {
  const response = responseOf(items, changes)
  const head = { ...response, status: 'in_progress', output: [], usage: null }
  return [
    frame({ type: 'response.created', response: head }),
    frame({ type: 'response.in_progress', response: head }),
    ...items.flatMap(framesOf),
    frame({ type: `response.${response['status']}`, response }),
  ]
}

/** The events of one item. */
export function framesOf(spoken: Spoken, index: number): readonly UpstreamFrame[] {
  const item = itemOf(spoken, index)
  const place = { item_id: item['id'], output_index: index }
  const empty = { ...item, ...emptied(spoken) }
  return [
    frame({ type: 'response.output_item.added', output_index: index, item: empty }),
    ...pieceFrames(spoken, place),
    frame({ type: 'response.output_item.done', output_index: index, item }),
  ]
}

function emptied(spoken: Spoken): Json {
  if (spoken.kind === 'call') return { arguments: '' }
  return spoken.kind === 'reasoning' ? { summary: [], encrypted_content: 'partial' } : { content: [] }
}

function pieceFrames(spoken: Spoken, place: Json): readonly UpstreamFrame[] {
  switch (spoken.kind) {
    case 'text':
    case 'refusal': {
      const at = { ...place, content_index: 0 }
      const part = partOf(spoken)
      const kind = spoken.kind === 'text' ? 'output_text' : 'refusal'
      const text = part['text'] ?? part['refusal']
      return [
        frame({ type: 'response.content_part.added', ...at, part: { ...part, text: '', refusal: '' } }),
        ...spoken.pieces.map(delta => frame({ type: `response.${kind}.delta`, ...at, delta })),
        frame({ type: `response.${kind}.done`, ...at, text, refusal: text }),
        frame({ type: 'response.content_part.done', ...at, part }),
      ]
    }
    case 'call': {
      const type = 'response.function_call_arguments'
      const deltas = spoken.pieces.map(delta => frame({ type: `${type}.delta`, ...place, delta }))
      return [...deltas, frame({ type: `${type}.done`, ...place, arguments: spoken.pieces.join('') })]
    }
    case 'reasoning':
      return spoken.summaries.flatMap((pieces, summary_index) => {
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
