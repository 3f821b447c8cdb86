import type { ContextTool } from '../../../../contract/contexts.ts'
import { estimateInputTokens } from '../../../gateway/tokens/estimate.ts'
import { isRecord } from '../../../platform/json.ts'
import { frontEndText } from '../../../tools/front-end.ts'
import { shownTools, withToolSearch } from '../../../tools/searched-tools.ts'
import type { ListedTools, RunTool } from '../../../tools/tool-source.ts'
import type { ContextRequest, RunSession, RuntimeContext } from '../../runtime.ts'
import { systemTexts, toolInRequest, worksOnFiles } from '../request.ts'
import type { BuiltinDeps } from '../run.ts'
import { createStoredToolList } from '../stored-tool-list.ts'
import { conversationOf } from './compaction.ts'

/** Returns a function that describes the next model request of a session. It calls no model, no tool and no MCP server. */
export function createNextRequest(deps: BuiltinDeps) {
  const storedToolsOf = createStoredToolList(deps)

  return async (session: RunSession, request: ContextRequest): Promise<RuntimeContext> => {
    const { prompt, fold } = request
    const notes: string[] = []
    const frontEnd = await deps.frontEnds.of(session, undefined)
    const tools = withToolSearch(await storedToolsOf(session, { ...request, frontEnd }, notes))
    const conversation = fold && (await conversationOf({ fold })).conversation
    const shown = shownTools(tools, conversation?.foundTools ?? [])
    const schema = prompt.output_schema ?? session.config['output_schema']
    const blocks = [request.memories, await deps.memoryStores.block(session.id)]
    const memories = blocks.filter(text => text !== '').join('\n\n')
    const parts = systemTexts(prompt.system ?? session.system, session, {
      memories,
      application: frontEndText(frontEnd),
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
