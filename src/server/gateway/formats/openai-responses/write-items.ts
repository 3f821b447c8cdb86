import { type Json, jsonOr, recordOf } from '../../../platform/json.ts'
import type { Logprobs } from '../../core/answer-event.ts'
import type { Block } from '../shared/content-parts.ts'
import type { UrlCitation } from '../shared/openai-answer.ts'
import type { ToolOrigin } from '../shared/tools.ts'
import { createCustomInput } from '../shared/tools.ts'
import { clientTools } from './client-tools.ts'
import { sealedThinking } from './reasoning.ts'

/** An event of a Responses stream, still without its number. */
export type ResponseEvent = Json & { readonly type: string }

export type ItemStatus = 'completed' | 'incomplete'

/** An item of the output while it is being said. */
export interface OutputItem {
  /** When it is first shown. One that waits for text and gets none has no place in the output. */
  readonly isShown: 'at_once' | 'with_text' | 'when_whole'
  more(text: string, logprobs?: Logprobs): readonly ResponseEvent[]
  sign(signature: string): void
  /** Names a page behind a text; absent for items that have none. */
  cite?(page: UrlCitation): void
  /** The events that complete it, but for the last, which holds the item. */
  close(): readonly ResponseEvent[]
  /** The item as it is now. */
  item(status: ItemStatus | 'in_progress'): Json
}

/** Where an item stands. */
export interface ItemPlace {
  readonly id: string
  readonly index: number
}

const at = ({ id, index }: ItemPlace) => ({ item_id: id, output_index: index })

/** A text of the answer. It begins with its first character: an empty one is not shown. */
export function messageItem(place: ItemPlace): OutputItem {
  let text = ''
  const pages: UrlCitation[] = []
  const annotations = () =>
    pages.map(page => ({ type: 'url_citation', ...page, start_index: 0, end_index: text.length }))
  const likely: Json[] = []
  const part = (noted: readonly Json[] = []) => ({
    type: 'output_text',
    text,
    annotations: noted,
    logprobs: [...likely],
  })
  const where = { ...at(place), content_index: 0 }
  return {
    isShown: 'with_text',
    more(more, logprobs = []) {
      const added = text === '' ? [{ type: 'response.content_part.added', ...where, part: part() }] : []
      text += more
      likely.push(...logprobs)
      return [...added, { type: 'response.output_text.delta', ...where, delta: more, logprobs }]
    },
    sign: () => undefined,
    cite: page => void pages.push(page),
    // A citation stands for all of the text, so its place is known at the end alone.
    close: () => [
      ...annotations().map((annotation, annotation_index) => ({
        type: 'response.output_text.annotation.added',
        ...where,
        annotation_index,
        annotation,
      })),
      { type: 'response.output_text.done', ...where, text, logprobs: [...likely] },
      { type: 'response.content_part.done', ...where, part: part(annotations()) },
    ],
    item: status => ({
      type: 'message',
      id: place.id,
      status,
      role: 'assistant',
      content: status === 'in_progress' ? [] : [part(annotations())],
    }),
  }
}

/** Thinking that the provider keeps to itself. */
export const sealedReasoning = (id: string, block: Block): Json => ({
  type: 'reasoning',
  id,
  summary: [],
  encrypted_content: sealedThinking(block),
  status: 'completed',
})

/** What the model thinks: its text as a summary, and all that the model wants back as an opaque state. */
export function reasoningItem(place: ItemPlace): OutputItem {
  let thinking = ''
  let signature = ''
  const part = () => ({ type: 'summary_text', text: thinking })
  const where = { ...at(place), summary_index: 0 }
  return {
    isShown: 'at_once',
    more(text) {
      const added = thinking === '' ? [{ type: 'response.reasoning_summary_part.added', ...where, part: part() }] : []
      thinking += text
      return [...added, { type: 'response.reasoning_summary_text.delta', ...where, delta: text }]
    },
    sign(more) {
      signature += more
    },
    close: () =>
      thinking === ''
        ? []
        : [
            { type: 'response.reasoning_summary_text.done', ...where, text: thinking },
            { type: 'response.reasoning_summary_part.done', ...where, part: part() },
          ],
    item: status => ({
      type: 'reasoning',
      id: place.id,
      summary: thinking === '' || status === 'in_progress' ? [] : [part()],
      encrypted_content: signature === '' ? null : sealedThinking({ type: 'thinking', thinking, signature }),
      status,
    }),
  }
}

/** A call in the form that goes with its tool. */
export function callItem(place: ItemPlace, callId: string, origin: ToolOrigin): OutputItem {
  if (origin.kind === 'custom') return customCallItem(place, callId, origin)
  return origin.kind === 'function' ? functionCallItem(place, callId, origin) : clientCallItem(place, callId, origin)
}

const named = ({ name, namespace }: ToolOrigin) => ({ name, ...(namespace !== undefined && { namespace }) })

function functionCallItem(place: ItemPlace, callId: string, origin: ToolOrigin): OutputItem {
  let json = ''
  return {
    isShown: 'at_once',
    more(text) {
      json += text
      return [{ type: 'response.function_call_arguments.delta', ...at(place), delta: text }]
    },
    sign: () => undefined,
    close: () => [{ type: 'response.function_call_arguments.done', ...at(place), name: origin.name, arguments: json }],
    item: status => ({
      type: 'function_call',
      id: place.id,
      call_id: callId,
      ...named(origin),
      arguments: json,
      status,
    }),
  }
}

function customCallItem(place: ItemPlace, callId: string, origin: ToolOrigin): OutputItem {
  const input = createCustomInput()
  const delta = (text: string) =>
    text === '' ? [] : [{ type: 'response.custom_tool_call_input.delta', ...at(place), delta: text }]
  return {
    isShown: 'at_once',
    more: json => delta(input.push(json)),
    sign: () => undefined,
    close() {
      const rest = delta(input.end())
      return [...rest, { type: 'response.custom_tool_call_input.done', ...at(place), input: input.text }]
    },
    item: status => ({
      type: 'custom_tool_call',
      id: place.id,
      call_id: callId,
      ...named(origin),
      input: input.text,
      status,
    }),
  }
}

/** Calls of these tools have no deltas: they are shown when they are whole. */
function clientCallItem({ id }: ItemPlace, callId: string, { kind }: ToolOrigin): OutputItem {
  const tool = clientTools.get(kind)
  let json = ''
  return {
    isShown: 'when_whole',
    more(text) {
      json += text
      return []
    },
    sign: () => undefined,
    close: () => [],
    item: status => ({
      type: tool?.callType,
      id,
      call_id: callId,
      ...tool?.callFields(recordOf(jsonOr(json, undefined))),
      status,
    }),
  }
}
