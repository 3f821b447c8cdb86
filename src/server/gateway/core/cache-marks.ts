import { isAnthropicFormat } from '../../config/protocols.ts'
import { isRecord, type Json, listOf, recordOf, withEntries } from '../../platform/json.ts'
import type { CanonicalRequest } from './codec.ts'
import { type StepOptions, withBlocks } from './normal-history.ts'

/** Limit of `cache_control` in a request. */
const maxMarks = 4

/**
 * Returns the request with `cache_control` as upstreams of Anthropic's format accept it. They reject more than four
 * marks: the first ones are dropped, since a later one covers them. Bedrock accepts none for the whole request, so that
 * it moves to the last block.
 */
export function withCacheMarks(request: CanonicalRequest, { target, note }: StepOptions): CanonicalRequest {
  if (!isAnthropicFormat(target.protocol)) return request
  const given = target.protocol === 'bedrock-invoke' ? withMarkAtEnd(request) : request
  let excess = countOf(given) - maxMarks
  if (excess <= 0) return given
  return withEach(given, (block, path) => {
    if (!isRecord(block['cache_control']) || excess <= 0) return block
    excess--
    note(`${path}.cache_control`, 'dropped')
    const { cache_control: _, ...rest } = block
    return rest
  })
}

function countOf(request: CanonicalRequest): number {
  let count = isRecord(request['cache_control']) ? 1 : 0
  withEach(request, block => {
    if (isRecord(block['cache_control'])) count++
    return block
  })
  return count
}

type Change = (block: Json, path: string) => Json

/** Applies a change to all tools and blocks, in the order in which the model reads them. */
function withEach(request: CanonicalRequest, change: Change): CanonicalRequest {
  const within = (record: Json, field: string, path: string): Json =>
    withEntries(record, field, (entry, at) => (isRecord(entry) ? changed(entry, `${path}.${at}`) : entry))
  const changed = (entry: Json, path: string): Json =>
    change(entry['type'] === 'tool_result' ? within(entry, 'content', `${path}.content`) : entry, path)
  return withBlocks(within(within(request, 'tools', 'tools'), 'system', 'system'), changed)
}

/** Types of blocks that accept no `cache_control`. */
const unmarkable: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking'])

/** Moves the mark of the whole request to its last block, if that accepts one. */
function withMarkAtEnd(request: CanonicalRequest): CanonicalRequest {
  const { cache_control: mark, messages, ...rest } = request
  const list = listOf(messages)
  const last = recordOf(list.at(-1))
  const { content } = last
  const blocks: readonly unknown[] = typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content)
  const end = blocks.at(-1)
  if (!isRecord(mark) || !isRecord(end) || end['text'] === '' || unmarkable.has(end['type'])) return request
  const marked = { cache_control: mark, ...end }
  return { ...rest, messages: [...list.slice(0, -1), { ...last, content: [...blocks.slice(0, -1), marked] }] }
}
