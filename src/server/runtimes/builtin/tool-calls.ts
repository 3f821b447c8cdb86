import type { NewEventOf } from '../../../contract/events.ts'
import type { ToolContext, ToolResult } from '../../tools/tool.ts'
import type { EnabledTool } from '../../tools/toolset.ts'
import type { OpenToolUse } from './conversation.ts'

type ResultEvent = NewEventOf<'agent.tool_result'>

/** Maximum number of concurrent reads. */
const maxReads = 8

/**
 * Runs the tool calls of a turn. Consecutive reads run concurrently. A call that may change something waits for all
 * calls before it, and later calls wait for it, so that a turn may write a file and then run it. Yields exactly one
 * result per call, in the order in which they end.
 */
export async function* runToolCalls(
  uses: readonly OpenToolUse[],
  tools: ReadonlyMap<string, EnabledTool>,
  context: () => Promise<ToolContext>,
): AsyncGenerator<ResultEvent> {
  for (const group of groupsOf(uses, tools)) {
    const running = new Map(group.map(use => [use.tool_use_id, runOne(use, tools, context)] as const))
    while (running.size > 0) {
      const done = await Promise.race(running.values())
      running.delete(done.tool_use_id)
      yield done
    }
  }
}

/** Groups the calls in their order: consecutive reads together, every other call alone. */
function groupsOf(uses: readonly OpenToolUse[], tools: ReadonlyMap<string, EnabledTool>): OpenToolUse[][] {
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
export const isRead = ({ name }: OpenToolUse, tools: ReadonlyMap<string, EnabledTool>): boolean =>
  tools.get(name)?.tool.reads ?? true

/** Result of a call that an earlier owner may have run. */
export const outcomeUnknown = ({ tool_use_id }: OpenToolUse): ResultEvent =>
  resultEvent(tool_use_id, failure('interrupted; outcome unknown: the tool may or may not have run'))

/** Result of a call that a person denied or never decided about. */
export const notAllowed = ({ tool_use_id, name }: OpenToolUse, reason: string | undefined): ResultEvent =>
  resultEvent(tool_use_id, failure(`${name} was not run: ${reason ?? 'a person denied it'}`))

/** Result of a call whose question was open when the run was stopped. */
export const neverAnswered = (use: OpenToolUse): ResultEvent =>
  notAllowed(use, 'the run was stopped before a person answered')

/** Reports whether the call may be repeated after a crash. */
export const isRepeatable = ({ name }: OpenToolUse, tools: ReadonlyMap<string, EnabledTool>): boolean =>
  tools.get(name)?.tool.idempotent ?? false

async function runOne(
  use: OpenToolUse,
  tools: ReadonlyMap<string, EnabledTool>,
  context: () => Promise<ToolContext>,
): Promise<ResultEvent> {
  return resultEvent(use.tool_use_id, await resultOf(use, tools, context))
}

async function resultOf(
  { name, input, permission }: OpenToolUse,
  tools: ReadonlyMap<string, EnabledTool>,
  context: () => Promise<ToolContext>,
): Promise<ToolResult> {
  const enabled = tools.get(name)
  if (!enabled) return failure(`tool ${name} does not exist; the tools are ${[...tools.keys()].join(', ') || 'none'}`)
  if (permission === 'deny') return failure(`the policy of this agent does not allow ${name}`)
  if (typeof input !== 'object' || input === null) return failure('the arguments are truncated or not valid JSON')
  const opened = await context().catch((error: unknown) => error)
  // Without a sandbox the call fails, and the run continues.
  if (opened instanceof Error) return failure(`cannot open the sandbox of this session: ${opened.message}`)
  return enabled.tool.run(input, opened as ToolContext)
}

const failure = (text: string): ToolResult => ({ content: [{ type: 'text', text }], is_error: true })

const resultEvent = (tool_use_id: string, { content, is_error }: ToolResult): ResultEvent => ({
  type: 'agent.tool_result',
  tool_use_id,
  content,
  is_error,
})
