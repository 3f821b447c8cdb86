import { addAll } from '../../../platform/add-all.ts'
import { type Json, jsonOr, recordOf } from '../../../platform/json.ts'
import type { Logprobs } from '../../core/answer-event.ts'
import type { Block } from '../shared/content-parts.ts'
import type { UrlCitation } from '../shared/openai-answer.ts'
import type { ToolOrigin } from '../shared/tools.ts'
import { createCustomInput } from '../shared/tools.ts'
import { clientTools } from './client-tools.ts'
import { encodedThinking } from './reasoning.ts'

/** Event of a Responses stream, without `sequence_number`. */
export type ResponseEvent = Json & { readonly type: string }

export type ItemStatus = 'completed' | 'incomplete'

/** Output item while it is written. */
export interface OutputItem {
  /** When `output_item.added` is written. A `with_text` item without text is left out of the output. */
  readonly shownWhen: 'at_once' | 'with_text' | 'when_whole'
  more(text: string, logprobs?: Logprobs): readonly ResponseEvent[]
  sign(signature: string): void
  /** Adds a cited page; absent for items without citations. */
  cite?(page: UrlCitation): void
  /** Returns the events that complete the item, except `output_item.done`. */
  close(): readonly ResponseEvent[]
  /** Returns the item in its current state. */
  item(status: ItemStatus | 'in_progress'): Json
}

/** Id and output index of an item. */
export interface ItemPlace {
  readonly id: string
  readonly index: number
}

const at = ({ id, index }: ItemPlace) => ({ item_id: id, output_index: index })

/** Creates a message item. It is shown with its first character; an empty one is left out. */
export function messageItem(place: ItemPlace): OutputItem {
  let text = ''
  const pages: UrlCitation[] = []
  const annotations = () =>
    pages.map(page => ({ type: 'url_citation', ...page, start_index: 0, end_index: text.length }))
  const allLogprobs: Json[] = []
  const part = (noted: readonly Json[] = []) => ({
    type: 'output_text',
    text,
    annotations: noted,
    logprobs: [...allLogprobs],
  })
  const where = { ...at(place), content_index: 0 }
  return {
    shownWhen: 'with_text',
    more(more, logprobs = []) {
      const added = text === '' ? [{ type: 'response.content_part.added', ...where, part: part() }] : []
      text += more
      addAll(allLogprobs, logprobs)
      return [...added, { type: 'response.output_text.delta', ...where, delta: more, logprobs }]
    },
    sign: () => undefined,
    cite: page => void pages.push(page),
    // Citations apply to all of the text, so their range is known only at the end.
    close: () => [
      ...annotations().map((annotation, annotation_index) => ({
        type: 'response.output_text.annotation.added',
        ...where,
        annotation_index,
        annotation,
      })),
      { type: 'response.output_text.done', ...where, text, logprobs: [...allLogprobs] },
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

/** Returns the reasoning item of a redacted thinking block. */
export const redactedReasoningItem = (id: string, block: Block): Json => ({
  type: 'reasoning',
  id,
  summary: [],
  encrypted_content: encodedThinking(block),
  status: 'completed',
})

/** Creates a reasoning item: the thinking as its summary, and thinking with signature as its encrypted content. */
export function reasoningItem(place: ItemPlace): OutputItem {
  let thinking = ''
  let signature = ''
  const part = () => ({ type: 'summary_text', text: thinking })
  const where = { ...at(place), summary_index: 0 }
  return {
    shownWhen: 'at_once',
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
      encrypted_content: signature === '' ? null : encodedThinking({ type: 'thinking', thinking, signature }),
      status,
    }),
  }
}

/** Creates a call item of the type that belongs to the tool. */
export function callItem(place: ItemPlace, callId: string, origin: ToolOrigin): OutputItem {
  if (origin.kind === 'custom') return customCallItem(place, callId, origin)
  return origin.kind === 'function' ? functionCallItem(place, callId, origin) : clientCallItem(place, callId, origin)
}

const named = ({ name, namespace }: ToolOrigin) => ({ name, ...(namespace !== undefined && { namespace }) })

function functionCallItem(place: ItemPlace, callId: string, origin: ToolOrigin): OutputItem {
  let json = ''
  return {
    shownWhen: 'at_once',
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
    shownWhen: 'at_once',
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

/** Creates a call item of a client tool. These calls have no deltas and are shown when complete. */
function clientCallItem({ id }: ItemPlace, callId: string, { kind }: ToolOrigin): OutputItem {
  const tool = clientTools.get(kind)
  let json = ''
  return {
    shownWhen: 'when_whole',
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
