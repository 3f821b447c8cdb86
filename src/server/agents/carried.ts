import type { Agent, AgentWrite } from '../../contract/agents.ts'
import { invalid } from '../platform/errors.ts'
import type { RuntimeRegistry } from '../runtimes/runtime.ts'
import type { AgentFields } from './store.ts'

/** What an agent's runtime cannot carry of it. Rulings: 1. */
export type Carried = ReturnType<typeof createCarried>

type Setup = Pick<Agent, 'tools' | 'config'>

export function createCarried({ findings }: Pick<RuntimeRegistry, 'findings'>) {
  const findingsOf = ({ tools, config }: Setup) => findings(String(config['runtime']), { tools, config })

  return {
    /** Throws `invalid` for tools or servers that `write` names and nobody may store; what is stored already stays. */
    async check(write: Pick<AgentWrite, 'tools' | 'config' | 'mcp_servers'>, after: Pick<AgentFields, keyof Setup>) {
      if (Array.isArray(write.mcp_servers) && write.mcp_servers.length > 0) {
        throw invalid('mcp_servers is not possible here; runtimes that call MCP servers read config.mcp_servers')
      }
      const isWritten = (field: string) =>
        field.startsWith('tools')
          ? write.tools !== undefined
          : !field.startsWith('config.') || write.config?.[field.slice('config.'.length)] !== undefined
      const wrong = (await findingsOf(after)).find(({ field, problem }) => problem !== undefined && isWritten(field))
      if (wrong) throw invalid(`${wrong.field} ${wrong.problem}`)
    },

    /** Names of what the runtime cannot carry: `tools[1]`. */
    ignored: async (agent: Setup): Promise<string[]> => (await findingsOf(agent)).map(({ field }) => field),
  }
}
