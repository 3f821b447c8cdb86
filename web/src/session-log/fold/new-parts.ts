import type { SessionEvent } from '../../../../src/contract/events.ts'
import type { EventOf, Group, Prompt, SessionUsage, ToolCall, Turn, Usage } from '../view.ts'

type CallEvent = EventOf<'agent.tool_use' | 'agent.mcp_tool_use' | 'agent.custom_tool_use'>

export const promptOf = (event: EventOf<'user.message' | 'user.compact'>): Prompt => ({
  id: event.prompt_id ?? event.id,
  kind: event.type === 'user.compact' ? 'compact' : 'message',
  eventId: event.id,
  content: event.type === 'user.message' ? event.content : [],
  model: event.model ?? undefined,
  queuedAt: event.processed_at,
  state: 'waiting',
  reason: undefined,
})

/** A prompt whose message was not read. */
export const unknownPrompt = (id: string): Prompt => ({
  id,
  kind: 'unknown',
  eventId: undefined,
  content: [],
  model: undefined,
  queuedAt: undefined,
  state: 'running',
  reason: undefined,
})

export const newTurn = (fields: Pick<Turn, 'key' | 'kind'> & Partial<Turn>): Turn => ({
  prompt: undefined,
  runId: undefined,
  startedAt: undefined,
  groups: [],
  end: undefined,
  usage: undefined,
  usageBefore: undefined,
  eventIds: [],
  ...fields,
})

export const newGroup = (event: SessionEvent, fields: Partial<Group> = {}): Group => ({
  key: `group:${event.id}`,
  kind: 'other',
  number: 0,
  model: undefined,
  isCompaction: false,
  state: 'done',
  startedAt: event.processed_at,
  endedAt: undefined,
  usage: undefined,
  isEstimated: false,
  retry: undefined,
  trimmedUntil: undefined,
  joined: [],
  items: [],
  eventIds: [],
  ...fields,
})

export function callOf(event: CallEvent): ToolCall {
  const { evaluated_permission: permission } = event
  const isOfClient = event.type === 'agent.custom_tool_use'
  const undecided = { decidedAt: undefined, decidedBy: undefined, message: undefined }
  return {
    kind: 'tool',
    key: event.id,
    callId: event.tool_use_id ?? event.id,
    name: event.name,
    server: event.mcp_server_name,
    runsAt: isOfClient ? 'client' : 'service',
    input: event.input,
    state: permission === 'ask' ? 'waiting for approval' : isOfClient ? 'waiting for client' : 'running',
    at: event.processed_at,
    approval: permission === 'ask' ? { state: 'pending', ...undecided } : undefined,
    result: undefined,
    endedAt: undefined,
    timeoutSeconds: event.timeout_seconds,
    threadId: event.session_thread_id,
    startedThreadId: undefined,
    eventIds: [],
  }
}

export const usageOf = (
  usage: EventOf<'span.model_request_end'>['model_usage'] | EventOf<'session.usage'>['usage'],
): Usage | undefined =>
  usage
    ? {
        input: usage.input_tokens ?? 0,
        output: usage.output_tokens ?? 0,
        cacheRead: usage.cache_read_input_tokens ?? 0,
        cacheWrite: usage.cache_creation_input_tokens ?? 0,
      }
    : undefined

const noUsage: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }

export const sessionUsageOf = ({ usage, cost_usd }: EventOf<'session.usage'>): SessionUsage => ({
  ...(usageOf(usage) ?? noUsage),
  contextTokens: usage?.context_tokens,
  contextWindow: usage?.context_window,
  costUsd: cost_usd,
})

/** Totals of a session before its first run. */
export const noSessionUsage: SessionUsage = {
  ...noUsage,
  contextTokens: undefined,
  contextWindow: undefined,
  costUsd: 0,
}
