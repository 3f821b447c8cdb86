import type { ContextTool } from '../../../../contract/contexts.ts'
import { estimateInputTokens } from '../../../gateway/tokens/estimate.ts'
import { isRecord } from '../../../platform/json.ts'
import { shownTools, withToolSearch } from '../../../tools/searched-tools.ts'
import { type ListedTools, type RunTool, toolsOfSources } from '../../../tools/tool-source.ts'
import type { ContextRequest, RunSession, RuntimeContext } from '../../runtime.ts'
import { systemTexts, toolInRequest, worksOnFiles } from '../request.ts'
import type { BuiltinDeps } from '../run.ts'
import { idleServices } from '../run-services.ts'
import { createSources } from '../sources.ts'
import { conversationOf } from './compaction.ts'

/** Returns a function that describes the next model request of a session. It calls no model, no tool and no MCP server. */
export function createNextRequest(deps: BuiltinDeps) {
  // Without its MCP servers, which a list would connect to.
  const sourcesOf = createSources({ ...deps, mcp: { ...deps.mcp, sources: () => [] } })

  async function listedTools(session: RunSession, { prompt, agents, payer }: ContextRequest, notes: string[]) {
    const { signal } = new AbortController()
    const sources = sourcesOf({
      session,
      prompt: { ...unsent, ...prompt },
      context: {
        payer: async () => payer,
        customToolEnd: async () => undefined,
        ...(agents && { subagents: { agents, open: async () => [], end: async () => undefined } }),
      },
      services: idleServices(deps, prompt.model),
    })
    const own = await toolsOfSources(sources, { signal, log: deps.log })
    const ofServers = payer ? await deps.mcp.stored(session, payer) : { tools: [], notes: [keyIsGone] }
    notes.push(...ofServers.notes)
    const missing = ofServers.tools.filter(({ name }) => !own.byName.has(name)).map(tool => [tool.name, tool] as const)
    return withToolSearch({ ...own, byName: new Map<string, RunTool>([...own.byName, ...missing]) })
  }

  return async (session: RunSession, request: ContextRequest): Promise<RuntimeContext> => {
    const { prompt, fold } = request
    const notes: string[] = []
    const tools = await listedTools(session, request, notes)
    const conversation = fold && (await conversationOf({ fold })).conversation
    const shown = shownTools(tools, conversation?.foundTools ?? [])
    const schema = prompt.output_schema ?? session.config['output_schema']
    const blocks = [request.memories, await deps.memoryStores.block(session.id)]
    const memories = blocks.filter(text => text !== '').join('\n\n')
    const parts = systemTexts(prompt.system ?? session.system, session, {
      memories,
      schema: isRecord(schema) ? schema : undefined,
      hasFiles: worksOnFiles(shown),
      failures: tools.failures,
    })
    const messages = conversation?.transcript.messages
    return {
      parts,
      tools: contextTools(tools, shown),
      contextWindow: deps.modelLimits(prompt.model).contextWindow,
      conversation: messages
        ? {
            messages: messages.length,
            estimated_tokens: messages.length === 0 ? 0 : estimateInputTokens({ messages }),
          }
        : null,
      notes,
    }
  }
}

const keyIsGone = 'the key of the prompt was revoked or has expired, so tools of MCP servers are not listed'

/** A prompt of which only the texts matter. */
const unsent = {
  id: '',
  parts: [],
  kind: 'prompt',
  principal: '',
  key_id: null,
  message_id: null,
  outcome: null,
} as const

/** Returns the tools that the model gets first, in their order. */
function contextTools({ byName }: Pick<ListedTools, 'byName'>, shown: readonly RunTool[]): ContextTool[] {
  const others = [...byName.values()].filter(tool => !shown.includes(tool))
  return [...shown.map(tool => contextTool(tool, true)), ...others.map(tool => contextTool(tool, false))]
}

const contextTool = (tool: RunTool, isShown: boolean): ContextTool => ({
  name: tool.name,
  description: tool.description,
  input_schema: tool.inputSchema,
  mcp_server: tool.mcp?.server ?? null,
  policy: tool.policy,
  is_shown: isShown,
  estimated_tokens: estimateInputTokens({ tools: [toolInRequest(tool)] }),
})
