import type { SessionEvent } from '../../../contract/events.ts'
import { endedToolCall } from '../../../contract/events.ts'
import { mcpToolName } from '../../tools/mcp-toolset.ts'
import { RecordedResults, type Recording, replayedTools } from '../../tools/replay.ts'
import { withToolSearch } from '../../tools/searched-tools.ts'
import type { ListedTools } from '../../tools/tool-source.ts'
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
    return withToolSearch(replayedTools(await storedToolsOf(session, request, []), results, recording))
  }
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
