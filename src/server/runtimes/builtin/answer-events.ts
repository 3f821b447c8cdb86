import type { NewEvent } from '../../../contract/events.ts'
import { estimateInputTokens, estimateTextTokens } from '../../gateway/tokens/estimate.ts'
import type { TokenCounts } from '../../gateway/tokens/token-counts.ts'
import { newId } from '../../platform/ids.ts'
import type { EnabledTool } from '../../tools/toolset.ts'
import type { Answer, AnswerBlock } from './answer.ts'

/** The events of one model answer, in the order of its blocks. `ids` names the text blocks that were shown as they came. */
export function answerEvents(
  { blocks }: Answer,
  ids: ReadonlyMap<number, string>,
  tools: ReadonlyMap<string, EnabledTool>,
): NewEvent[] {
  return blocks.flatMap((block, index) => {
    const event = eventOf(block, tools)
    const id = ids.get(index)
    return event ? [id === undefined ? event : { ...event, id }] : []
  })
}

/**
 * What readers saw of an answer that was cut short: its text. Its tool calls never ran, and thinking without the
 * signature at its end is refused when it is sent back.
 */
export const interruptedEvents = ({ blocks }: Answer, ids: ReadonlyMap<number, string>): NewEvent[] =>
  blocks.flatMap((block, index) => {
    if (block.type !== 'text' || block.text.trim() === '') return []
    const id = ids.get(index)
    const content = [{ type: 'text', text: block.text }]
    return [{ ...(id !== undefined && { id }), type: 'agent.message', content, interrupted: true }]
  })

function eventOf(block: AnswerBlock, tools: ReadonlyMap<string, EnabledTool>): NewEvent | undefined {
  switch (block.type) {
    case 'text':
      // The API refuses empty text when the conversation is sent back.
      return block.text === '' ? undefined : { type: 'agent.message', content: [{ type: 'text', text: block.text }] }
    case 'thinking':
    case 'redacted_thinking':
      return { type: 'agent.thinking', content: [block] }
    case 'tool_use': {
      const evaluated_permission = tools.get(block.name)?.policy ?? 'allow'
      return {
        // Whoever asks about the call names it by this id.
        ...(evaluated_permission === 'ask' && { id: newId('evt') }),
        type: 'agent.tool_use',
        tool_use_id: block.id,
        name: block.name,
        input: inputOf(block.json),
        evaluated_permission,
      }
    }
    case 'other':
      return undefined
  }
}

/** The arguments of a tool call; text that is no JSON object stays text, and the call then fails. */
function inputOf(json: string): unknown {
  if (json.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : json
  } catch {
    return json
  }
}

/**
 * The counters of an answer that was cut short: what the gateway books, and at least what was stated or seen of it.
 * `body` is the request.
 */
export function estimatedUsage(
  answer: Answer,
  booked: Partial<TokenCounts>,
  body: Readonly<Record<string, unknown>>,
): Record<string, number> {
  const stated = modelUsage(answer)
  const seen = answer.blocks.map(block => (block.type === 'text' ? block.text : JSON.stringify(block))).join('')
  const seenTokens = seen === '' ? 0 : estimateTextTokens(seen)
  const written = (booked.cache_write_5m_tokens ?? 0) + (booked.cache_write_1h_tokens ?? 0)
  const usage = {
    input_tokens: booked.input_tokens || stated['input_tokens'] || 0,
    output_tokens: Math.max(booked.output_tokens ?? 0, stated['output_tokens'] ?? 0, seenTokens),
    cache_creation_input_tokens: written || stated['cache_creation_input_tokens'] || 0,
    cache_read_input_tokens: booked.cache_read_tokens || stated['cache_read_input_tokens'] || 0,
  }
  const input = usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens
  return input > 0 ? usage : { ...usage, input_tokens: estimateInputTokens(body) }
}

/** The four counters of an answer's usage, as `span.model_request_end` shows them. */
export function modelUsage({ usage }: Answer): Record<string, number> {
  const count = (name: string) => (typeof usage[name] === 'number' ? usage[name] : 0)
  return {
    input_tokens: count('input_tokens'),
    output_tokens: count('output_tokens'),
    cache_creation_input_tokens: count('cache_creation_input_tokens'),
    cache_read_input_tokens: count('cache_read_input_tokens'),
  }
}
