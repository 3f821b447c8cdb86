import type { Agent, AgentWrite } from '../../contract/agents.ts'
import { invalid } from '../platform/errors.ts'
import { isRecord } from '../platform/json.ts'
import type { ResultSchemas } from '../platform/result-schema/result-schemas.ts'
import type { RuntimeRegistry } from '../runtimes/runtime.ts'
import type { AgentFields } from './stored-agent.ts'

/** Checks which tools and settings of an agent its runtime supports. Rulings: 1. */
export type RuntimeSupport = ReturnType<typeof createRuntimeSupport>

type Setup = Pick<Agent, 'tools' | 'config'>

interface Deps extends Pick<RuntimeRegistry, 'findings'> {
  readonly resultSchemas: Pick<ResultSchemas, 'schemaProblem'>
}

export function createRuntimeSupport({ findings, resultSchemas }: Deps) {
  const findingsOf = ({ tools, config }: Setup) => findings(String(config['runtime']), { tools, config })

  /** Throws `invalid` for a custom tool whose input schema is no valid JSON Schema. */
  async function checkSchemas(tools: unknown): Promise<void> {
    const entries = Array.isArray(tools)
      ? tools.map((entry, at) => [`tools[${at}]`, entry] as const)
      : [['tools', tools]]
    for (const [field, entry] of entries) {
      if (!isRecord(entry) || entry['type'] !== 'custom') continue
      const problem = await resultSchemas.schemaProblem(entry['input_schema'])
      if (problem !== undefined) throw invalid(`${field}.input_schema ${problem}`)
    }
  }

  return {
    /**
     * Throws `invalid` for tools or servers in `write` that the runtime rejects. Fields outside of `write` are not
     * checked.
     */
    async check(write: Pick<AgentWrite, 'tools' | 'config' | 'mcp_servers'>, after: Pick<AgentFields, keyof Setup>) {
      if (Array.isArray(write.mcp_servers) && write.mcp_servers.length > 0) {
        throw invalid('mcp_servers is not supported; use config.mcp_servers, for runtimes that call MCP servers')
      }
      const isWritten = (field: string) =>
        field.startsWith('tools')
          ? write.tools !== undefined
          : !field.startsWith('config.') || write.config?.[field.split(/[.[]/)[1] ?? ''] !== undefined
      const wrong = (await findingsOf(after)).find(({ field, problem }) => problem !== undefined && isWritten(field))
      if (wrong) throw invalid(`${wrong.field} ${wrong.problem}`)
      await checkSchemas(write.tools)
    },

    /** Returns the fields that the runtime does not support, such as `tools[1]`. */
    ignored: async (agent: Setup): Promise<string[]> => (await findingsOf(agent)).map(({ field }) => field),
  }
}
