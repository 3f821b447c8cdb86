import type { FrontEnd } from '../../tools/front-end.ts'
import { type ListedTools, type RunTool, toolsOfSources } from '../../tools/tool-source.ts'
import type { ContextRequest, RunSession } from '../runtime.ts'
import type { BuiltinDeps } from './run.ts'
import { idleServices } from './run-services.ts'
import { createSources } from './sources.ts'

interface ListRequest extends Pick<ContextRequest, 'prompt' | 'agents' | 'payer'> {
  readonly frontEnd: FrontEnd | undefined
}

/**
 * Returns a function that lists the tools of a session without connecting to anything: those of MCP servers as they were
 * accepted last. It adds to `notes` why tools are missing.
 */
export function createStoredToolList(deps: BuiltinDeps) {
  // Without its MCP servers, which a list would connect to.
  const sourcesOf = createSources({ ...deps, mcp: { ...deps.mcp, sources: () => [] } })

  return async (
    session: RunSession,
    { prompt, agents, payer, frontEnd }: ListRequest,
    notes: string[],
  ): Promise<ListedTools> => {
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
      frontEnd,
    })
    const own = await toolsOfSources(sources, { signal, log: deps.log })
    const ofServers = payer ? await deps.mcp.stored(session, payer) : { tools: [], notes: [keyIsGone] }
    notes.push(...ofServers.notes)
    const missing = ofServers.tools.filter(({ name }) => !own.byName.has(name)).map(tool => [tool.name, tool] as const)
    return { ...own, byName: new Map<string, RunTool>([...own.byName, ...missing]) }
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
