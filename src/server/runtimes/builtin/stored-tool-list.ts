import type { FrontEnd } from '../../tools/front-end.ts'
import { type ListedTools, type ToolSource, toolsOfSources } from '../../tools/tool-source.ts'
import type { ContextRequest, RunSession } from '../runtime.ts'
import type { BuiltinDeps } from './run.ts'
import { idleServices } from './run-services.ts'
import { createSources } from './sources.ts'

interface ListRequest extends Pick<ContextRequest, 'prompt' | 'agents' | 'payer'> {
  readonly frontEnd: FrontEnd | undefined
}

/**
 * Returns a function that lists the tools of a session in the order of a run, without connecting to anything: those of MCP
 * servers as they were accepted last. It adds to `notes` why tools are missing.
 */
export function createStoredToolList(deps: BuiltinDeps) {
  const storedServers = (session: RunSession, payer: ListRequest['payer'], notes: string[]): ToolSource => ({
    name: 'MCP servers',
    async list() {
      const { tools, notes: missing } = payer ? await deps.mcp.stored(session, payer) : keyIsGone
      notes.push(...missing)
      return tools
    },
  })

  return async (
    session: RunSession,
    { prompt, agents, payer, frontEnd }: ListRequest,
    notes: string[],
  ): Promise<ListedTools> => {
    const sourcesOf = createSources({
      ...deps,
      mcp: { ...deps.mcp, sources: () => [storedServers(session, payer, notes)] },
    })
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
    return toolsOfSources(sources, { signal: new AbortController().signal, log: deps.log })
  }
}

const keyIsGone = {
  tools: [],
  notes: ['the key of the prompt was revoked, has expired or may only read, so tools of MCP servers are not listed'],
}

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
