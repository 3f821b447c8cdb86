import type { NewEventOf } from '../../../contract/events.ts'
import { AppError } from '../../platform/errors.ts'
import { isRecord, type Json } from '../../platform/json.ts'
import { failureResult, type ToolResult } from '../../tools/tool.ts'
import { searchName } from '../../tools/tool-search.ts'
import {
  type AwaitedTool,
  type CallContext,
  isAwaitedTool,
  isClientTool,
  type RunTools,
} from '../../tools/tool-source.ts'
import type { OpenToolUse } from './conversation.ts'

export type ResultEvent = NewEventOf<'agent.tool_result' | 'agent.mcp_tool_result'>

/** Maximum number of concurrent reads. */
const maxReads = 8

/**
 * Runs the tool calls of a turn. Consecutive reads run concurrently. A call that may change something waits for all
 * calls before it, and later calls wait for it, so that a turn may write a file and then run it. Yields exactly one
 * result per call, in the order in which they end.
 */
export async function* runToolCalls(
  uses: readonly OpenToolUse[],
  tools: RunTools,
  context: CallContext,
): AsyncGenerator<ResultEvent> {
  for (const group of groupsOf(uses, tools)) {
    const running = new Map(group.map(use => [use.tool_use_id, runOne(use, tools, context)] as const))
    while (running.size > 0) {
      const done = await Promise.race(running.values())
      running.delete(callOf(done))
      yield done
    }
  }
}

/** Groups the calls in their order: consecutive reads together, every other call alone. */
function groupsOf(uses: readonly OpenToolUse[], tools: RunTools): OpenToolUse[][] {
  const groups: OpenToolUse[][] = []
  let reads: OpenToolUse[] = []
  for (const use of uses) {
    if (!isRead(use, tools)) {
      reads = []
      groups.push([use])
      continue
    }
    if (reads.length % maxReads === 0) {
      reads = []
      groups.push(reads)
    }
    reads.push(use)
  }
  return groups
}

/** A call of an unknown tool fails and changes nothing, so it counts as a read. */
export const isRead = ({ name }: OpenToolUse, { byName }: RunTools): boolean => byName.get(name)?.reads ?? true

/** Reports whether the call may be repeated after a crash. */
export const isRepeatable = ({ name }: OpenToolUse, { byName }: RunTools): boolean =>
  byName.get(name)?.idempotent ?? false

/** Returns the tool of a call whose result comes from elsewhere; undefined for other calls. */
export function awaitedTool(use: OpenToolUse, { byName, removed }: RunTools): AwaitedTool | undefined {
  const tool = byName.get(use.name) ?? (use.isClient ? removed : undefined)
  const isPossible = isRecord(use.input) && use.eventId !== undefined && use.permission !== 'deny'
  if (!tool || !isAwaitedTool(tool) || !isPossible) return undefined
  // A client was not asked when the arguments did not match the schema.
  return isClientTool(tool) && !use.isClient ? undefined : tool
}

/** Result of a call that an earlier owner may have run. */
export const outcomeUnknown = (use: OpenToolUse): ResultEvent =>
  resultEvent(use, failureResult('interrupted; outcome unknown: the tool may or may not have run'))

/** Result of a call that a person denied or never decided about. */
export const notAllowed = (use: OpenToolUse, reason: string | undefined): ResultEvent =>
  resultEvent(use, failureResult(`${use.name} was not run: ${reason ?? 'a person denied it'}`))

/** Result of a call whose question was open when the run was stopped. */
export const neverAnswered = (use: OpenToolUse, tools: RunTools): ResultEvent =>
  awaitedTool(use, tools)
    ? resultEvent(use, failureResult('the run was stopped before the call was answered'))
    : notAllowed(use, 'the run was stopped before a person answered')

/** Returns the event with the result of a call. */
export const resultEvent = ({ tool_use_id, isMcp }: OpenToolUse, { content, is_error }: ToolResult): ResultEvent =>
  isMcp
    ? { type: 'agent.mcp_tool_result', mcp_tool_use_id: tool_use_id, content, is_error }
    : { type: 'agent.tool_result', tool_use_id, content, is_error }

/** Returns the runtime's id of the call that a result belongs to. */
export const callOf = ({ tool_use_id, mcp_tool_use_id }: ResultEvent): string => tool_use_id ?? mcp_tool_use_id ?? ''

async function runOne(use: OpenToolUse, tools: RunTools, context: CallContext): Promise<ResultEvent> {
  return resultEvent(use, await resultOf(use, tools, context))
}

/** Returns why a call never waited for its result. */
async function mismatchOf({ name, mismatch }: AwaitedTool, input: Json): Promise<string> {
  const problem = (await mismatch?.(input)) ?? 'they did not match when the call was made'
  return `the arguments do not match the schema of ${name}: ${problem}; correct them and call it again`
}

async function resultOf(
  { name, input, permission }: OpenToolUse,
  { byName, failures }: RunTools,
  context: CallContext,
): Promise<ToolResult> {
  const tool = byName.get(name)
  if (!tool) {
    const names = [...byName.values()].flatMap(each => (each.isHidden ? [] : [each.name]))
    const others = names.length < byName.size ? `, and those that ${searchName} finds` : ''
    const known = `tool ${name} does not exist; the tools are ${names.join(', ') || 'none'}${others}`
    return failureResult([known, ...failures].join('; '))
  }
  if (permission === 'deny') return failureResult(`the policy of this agent does not allow ${name}`)
  if (!isRecord(input)) return failureResult('the arguments are truncated, not a JSON object, or too large')
  if (isAwaitedTool(tool)) return failureResult(await mismatchOf(tool, input))
  try {
    return await tool.call(input, context)
  } catch (error) {
    if (context.signal.aborted) return failureResult('cancelled')
    if (error instanceof AppError && error.code !== 'internal') return failureResult(error.message)
    // The model can continue without this tool, but the operator must see why it failed.
    context.log.error({ err: error, tool: name }, 'tool failed')
    return failureResult('tool failed: internal error of the server')
  }
}
