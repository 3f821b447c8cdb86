import type { NewEvent, NewEventOf } from '../../../contract/events.ts'
import { estimateInputTokens, estimateTextTokens } from '../../gateway/tokens/estimate.ts'
import type { TokenCounts } from '../../gateway/tokens/token-counts.ts'
import { newId } from '../../platform/ids.ts'
import { isRecord } from '../../platform/json.ts'
import { isAwaitedTool, type RunTools } from '../../tools/tool-source.ts'
import type { Answer, AnswerBlock } from './answer.ts'
import { argumentsOf } from './call-arguments.ts'

/**
 * Returns the events of one model answer, in the order of its blocks. `ids` are the event ids of previewed text blocks;
 * `rejected` are the calls whose arguments do not match their schemas.
 */
export function answerEvents(
  { blocks }: Answer,
  ids: ReadonlyMap<number, string>,
  { tools, rejected }: { readonly tools: RunTools; readonly rejected: ReadonlySet<string> },
): NewEvent[] {
  return blocks.flatMap((block, index) => {
    const event = eventOf(block, tools, rejected)
    const id = ids.get(index)
    return event ? [id === undefined ? event : { ...event, id }] : []
  })
}

/**
 * Returns the text of an interrupted answer, which readers have seen. Its tool calls never ran, and providers reject
 * thinking without the signature at its end.
 */
export const interruptedEvents = ({ blocks }: Answer, ids: ReadonlyMap<number, string>): NewEvent[] =>
  blocks.flatMap((block, index) => {
    if (block.type !== 'text' || block.text.trim() === '') return []
    const id = ids.get(index)
    const content = [{ type: 'text', text: block.text }]
    return [{ ...(id !== undefined && { id }), type: 'agent.message', content, interrupted: true }]
  })

/** Returns the ids of calls whose results come from elsewhere and whose arguments do not match their schemas. */
export async function rejectedCalls({ blocks }: Answer, { byName }: RunTools): Promise<ReadonlySet<string>> {
  const rejected = new Set<string>()
  for (const block of blocks) {
    if (block.type !== 'tool_use') continue
    const tool = byName.get(block.name)
    const input = argumentsOf(block.json)
    if (!tool || !isAwaitedTool(tool) || !isRecord(input)) continue
    if ((await tool.mismatch?.(input)) !== undefined) rejected.add(block.id)
  }
  return rejected
}

function eventOf(block: AnswerBlock, tools: RunTools, rejected: ReadonlySet<string>): NewEvent | undefined {
  switch (block.type) {
    case 'text':
      // The API rejects a conversation with empty text.
      return block.text === '' ? undefined : { type: 'agent.message', content: [{ type: 'text', text: block.text }] }
    case 'thinking':
    case 'redacted_thinking':
      return { type: 'agent.thinking', content: [block] }
    case 'tool_use': {
      const { id: tool_use_id, name } = block
      const tool = tools.byName.get(name)
      const input = argumentsOf(block.json)
      // Arguments that are not an object, or do not match the schema, fail here: they never reach the client.
      const isPossible = isRecord(input) && !rejected.has(tool_use_id)
      const isAwaited = tool !== undefined && isAwaitedTool(tool) && isPossible
      if (isAwaited && isRecord(input) && tool.use.type === 'agent.custom_tool_use')
        return { id: newId('evt'), ...tool.use, tool_use_id, name, input }
      const evaluated_permission = tool?.policy ?? 'allow'
      return {
        // The question about the call, or its result, refers to this id.
        ...((isAwaited || evaluated_permission === 'ask') && { id: newId('evt') }),
        ...(tool?.mcp
          ? { type: 'agent.mcp_tool_use', name: tool.mcp.tool, mcp_server_name: tool.mcp.server }
          : { type: 'agent.tool_use', name }),
        tool_use_id,
        input,
        evaluated_permission,
      }
    }
    case 'other':
      return undefined
  }
}

/**
 * Returns the counters of an interrupted answer: those that the gateway logs, but at least what the provider stated and
 * what was received. `body` is the request.
 */
export function estimatedUsage(
  answer: Answer,
  booked: Partial<TokenCounts>,
  body: Readonly<Record<string, unknown>>,
): ModelUsage {
  const stated = modelUsage(answer)
  const received = answer.blocks.map(block => (block.type === 'text' ? block.text : JSON.stringify(block))).join('')
  const receivedTokens = received === '' ? 0 : estimateTextTokens(received)
  const written = (booked.cache_write_5m_tokens ?? 0) + (booked.cache_write_1h_tokens ?? 0)
  const usage = {
    input_tokens: booked.input_tokens || stated.input_tokens,
    output_tokens: Math.max(booked.output_tokens ?? 0, stated.output_tokens, receivedTokens),
    cache_creation_input_tokens: written || stated.cache_creation_input_tokens,
    cache_read_input_tokens: booked.cache_read_tokens || stated.cache_read_input_tokens,
  }
  const input = usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens
  return input > 0 ? usage : { ...usage, input_tokens: estimateInputTokens(body) }
}

/** The four counters of `span.model_request_end`. */
export type ModelUsage = Required<NonNullable<NewEventOf<'span.model_request_end'>['model_usage']>>

/** Returns the four counters of an answer's usage, as in `span.model_request_end`. */
export function modelUsage({ usage }: Answer): ModelUsage {
  const count = (name: string) => (typeof usage[name] === 'number' ? usage[name] : 0)
  return {
    input_tokens: count('input_tokens'),
    output_tokens: count('output_tokens'),
    cache_creation_input_tokens: count('cache_creation_input_tokens'),
    cache_read_input_tokens: count('cache_read_input_tokens'),
  }
}
