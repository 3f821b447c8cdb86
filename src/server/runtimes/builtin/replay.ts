import { endedToolCall, type SessionEvent } from '../../../contract/events.ts'
import { mcpToolName } from '../../tools/mcp-toolset.ts'
import { RecordedResults, type Recording, replayedTools } from '../../tools/replay.ts'
import { withToolSearch } from '../../tools/searched-tools.ts'
import { searchName } from '../../tools/tool-search.ts'
import type { ListedTools, SourceWarning } from '../../tools/tool-source.ts'
import type { RunContext, RunPrompt, RunSession } from '../runtime.ts'
import type { BuiltinDeps } from './run.ts'
import { createStoredToolList } from './stored-tool-list.ts'

interface ReplayOf {
  readonly session: RunSession
  readonly prompt: RunPrompt
  readonly context: Pick<RunContext, 'history' | 'payer' | 'subagents'>
  readonly recording: Recording
}

/** Returns a function that lists the tools of a run with recorded results instead of calls. It connects to nothing. */
export function createReplayTools(deps: BuiltinDeps): (run: ReplayOf) => Promise<ListedTools> {
  const storedToolsOf = createStoredToolList(deps)
  return async ({ session, prompt, context, recording }) => {
    const results = new RecordedResults(recording.calls)
    // The log decides which results are used, so that a run after a crash continues with the same ones.
    for (const { name, input } of await answeredCalls(context.history())) results.take(name, input)
    const request = {
      prompt,
      agents: context.subagents?.agents,
      payer: await context.payer(prompt),
      frontEnd: undefined,
    }
    const notes: string[] = []
    const tools = await storedToolsOf(session, request, notes)
    const warnings = [...notes, ...unusedResults(recording, tools)].map(toWarning)
    return withToolSearch(replayedTools({ ...tools, warnings: [...tools.warnings, ...warnings] }, results, recording))
  }
}

const toWarning = (message: string): SourceWarning => ({ type: 'replay_incomplete', message })

/** Reports recorded results that no call can get: the agent has lost a tool, or a front-end gave it to the session. */
function unusedResults({ calls }: Recording, { byName }: ListedTools): string[] {
  const names = new Set(calls.map(({ name }) => name))
  const missing = [...names].filter(name => name !== searchName && !byName.has(name))
  return missing.length === 0
    ? []
    : [`recorded results are not used, because the agent does not have these tools: ${missing.join(', ')}`]
}

interface Call {
  readonly id: string
  readonly name: string
  readonly input: unknown
}

/** Returns the calls in the log that have a result, in the order of the calls. */
async function answeredCalls(history: AsyncIterable<SessionEvent>): Promise<Call[]> {
  const calls: Call[] = []
  const answered = new Set<string>()
  for await (const event of history) {
    const ended = endedToolCall(event)
    if (ended !== undefined) answered.add(ended)
    if (event.type === 'agent.tool_use' || event.type === 'agent.mcp_tool_use') calls.push(callOf(event))
  }
  return calls.filter(({ id }) => answered.has(id))
}

type ToolUse = Extract<SessionEvent, { readonly type: 'agent.tool_use' | 'agent.mcp_tool_use' }>

const callOf = ({ tool_use_id = '', name, mcp_server_name, input }: ToolUse): Call => ({
  id: tool_use_id,
  name: mcp_server_name === undefined ? name : mcpToolName(mcp_server_name, name),
  input,
})
