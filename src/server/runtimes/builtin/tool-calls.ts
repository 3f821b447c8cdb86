import type { NewEvent } from '../../../contract/events.ts'
import type { ToolContext, ToolResult } from '../../tools/tool.ts'
import type { EnabledTool } from '../../tools/toolset.ts'
import type { OpenToolUse } from './conversation.ts'

/** Reads that run side by side. */
const mostReads = 8

/**
 * Runs the tool calls of a turn. Reads that follow one another run side by side; a call that may change something waits for all
 * before it, and those after it wait for it, so that a turn may write a file and then run it. Yields the result of each as it
 * ends; each call has exactly one.
 */
export async function* runToolCalls(
  uses: readonly OpenToolUse[],
  tools: ReadonlyMap<string, EnabledTool>,
  context: () => Promise<ToolContext>,
): AsyncGenerator<NewEvent> {
  for (const group of groupsOf(uses, tools)) {
    const running = new Map(group.map(use => [use.tool_use_id, runOne(use, tools, context)] as const))
    while (running.size > 0) {
      const done = await Promise.race(running.values())
      running.delete(String(done['tool_use_id']))
      yield done
    }
  }
}

/** The calls in their order: each that changes something alone, reads in groups. */
function groupsOf(uses: readonly OpenToolUse[], tools: ReadonlyMap<string, EnabledTool>): OpenToolUse[][] {
  const groups: OpenToolUse[][] = []
  let reads: OpenToolUse[] = []
  for (const use of uses) {
    if (!isRead(use, tools)) {
      reads = []
      groups.push([use])
      continue
    }
    if (reads.length % mostReads === 0) {
      reads = []
      groups.push(reads)
    }
    reads.push(use)
  }
  return groups
}

/** A call of a tool that is not there fails, and changes nothing. */
export const isRead = ({ name }: OpenToolUse, tools: ReadonlyMap<string, EnabledTool>): boolean =>
  tools.get(name)?.tool.reads ?? true

/** The result that stands for a call which an owner before us may have made or not. */
export const outcomeUnknown = ({ tool_use_id }: OpenToolUse): NewEvent =>
  resultEvent(tool_use_id, failure('interrupted; outcome unknown: the tool may or may not have run'))

/** The result that stands for a call which a person did not allow, or which was never answered. */
export const notAllowed = ({ tool_use_id, name }: OpenToolUse, reason: string | undefined): NewEvent =>
  resultEvent(tool_use_id, failure(`${name} was not run: ${reason ?? 'a person denied it'}`))

/** The result of a call whose question was still open when the run was stopped. */
export const neverAnswered = (use: OpenToolUse): NewEvent =>
  notAllowed(use, 'the run was stopped before anybody answered')

/** True when the call may be made again after a crash. */
export const isRepeatable = ({ name }: OpenToolUse, tools: ReadonlyMap<string, EnabledTool>): boolean =>
  tools.get(name)?.tool.idempotent ?? false

async function runOne(
  use: OpenToolUse,
  tools: ReadonlyMap<string, EnabledTool>,
  context: () => Promise<ToolContext>,
): Promise<NewEvent> {
  return resultEvent(use.tool_use_id, await resultOf(use, tools, context))
}

async function resultOf(
  { name, input, permission }: OpenToolUse,
  tools: ReadonlyMap<string, EnabledTool>,
  context: () => Promise<ToolContext>,
): Promise<ToolResult> {
  const enabled = tools.get(name)
  if (!enabled)
    return failure(`there is no tool named ${name}; the tools are ${[...tools.keys()].join(', ') || 'none'}`)
  if (permission === 'deny') return failure(`the policy of this agent does not allow ${name}`)
  if (typeof input !== 'object' || input === null) return failure('the arguments are cut off or not valid JSON')
  const lent = await context().catch((error: unknown) => error)
  // Without a sandbox the model is told, and the run goes on.
  if (lent instanceof Error) return failure(`the sandbox of this session cannot be opened: ${lent.message}`)
  return enabled.tool.run(input, lent as ToolContext)
}

const failure = (text: string): ToolResult => ({ content: [{ type: 'text', text }], is_error: true })

const resultEvent = (tool_use_id: string, { content, is_error }: ToolResult): NewEvent => ({
  type: 'agent.tool_result',
  tool_use_id,
  content,
  is_error,
})
