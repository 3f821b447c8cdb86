import type { Agent, AgentWrite } from '../../contract/agents.ts'
import type { Caller } from '../http/caller.ts'
import type { AgentMcpCheck } from '../mcp/agents/agent-mcp-check.ts'
import { invalid } from '../platform/errors.ts'
import { isRecord, recordOf } from '../platform/json.ts'
import type { ResultSchemas } from '../platform/result-schema/result-schemas.ts'
import type { RuntimeRegistry } from '../runtimes/runtime.ts'
import type { AgentFields } from './stored-agent.ts'

/** Checks which tools and settings of an agent its runtime supports. */
export type RuntimeSupport = ReturnType<typeof createRuntimeSupport>

type Setup = Pick<Agent, 'tools' | 'config'>

interface Deps extends Pick<RuntimeRegistry, 'findings'> {
  readonly resultSchemas: Pick<ResultSchemas, 'schemaProblem'>
  readonly checkMcp: AgentMcpCheck
}

interface Options {
  readonly caller: Caller
  /** Path of the MCP servers in the body of the caller. */
  readonly serversField?: string
  /** Path of the object with `tools` and `config` in the body of the caller, with a final dot; empty for the body. */
  readonly place?: string
}

const serversField = 'config.mcp_servers'

export function createRuntimeSupport({ findings, resultSchemas, checkMcp }: Deps) {
  /** Findings of an agent and of the sessions that its webhook starts. */
  async function findingsOf({ tools, config }: Setup) {
    const { environment } = recordOf(config['webhook'])
    const found = await findings(String(config['runtime']), {
      tools,
      config,
      ...(isRecord(environment) && { environment }),
    })
    return found.map(({ field, ...finding }) => ({
      ...finding,
      field: field.startsWith('environment.') ? `config.webhook.${field}` : field,
    }))
  }

  /** Throws `invalid` for a custom tool whose input schema is no valid JSON Schema. */
  async function checkSchemas(tools: unknown, place: string): Promise<void> {
    const entries = Array.isArray(tools)
      ? tools.map((entry, at) => [`tools[${at}]`, entry] as const)
      : [['tools', tools]]
    for (const [field, entry] of entries) {
      if (!isRecord(entry) || entry['type'] !== 'custom') continue
      const problem = await resultSchemas.schemaProblem(entry['input_schema'])
      if (problem !== undefined) throw invalid(`${place}${field}.input_schema ${problem}`)
    }
  }

  return {
    /**
     * Throws `invalid` for tools or servers in `write` that the runtime rejects, or that do not exist, and `forbidden`
     * for servers that the caller may not name. Fields outside of `write` are not checked.
     */
    async check(
      write: Pick<AgentWrite, 'tools' | 'config'>,
      after: Pick<AgentFields, keyof Setup>,
      { caller, place = '', serversField: shownField = `${place}${serversField}` }: Options,
    ) {
      const isWritten = (field: string) =>
        field.startsWith('tools')
          ? write.tools !== undefined
          : !field.startsWith('config.') || write.config?.[/^config\.(\w+)/.exec(field)?.[1] ?? ''] !== undefined
      const wrong = (await findingsOf(after)).find(({ field, problem }) => problem !== undefined && isWritten(field))
      if (wrong) {
        const isServer = wrong.field.startsWith(serversField)
        const field = isServer ? wrong.field.replace(serversField, shownField) : `${place}${wrong.field}`
        throw invalid(`${field} ${wrong.problem}`)
      }
      await checkSchemas(write.tools, place)
      const written = { tools: isWritten('tools'), servers: isWritten(serversField), serversField: shownField }
      await checkMcp(after, { ...written, runtime: String(after.config['runtime']) }, caller)
    },

    /** Returns the fields that the runtime does not support, such as `tools[1]`. */
    ignored: async (agent: Setup): Promise<string[]> => (await findingsOf(agent)).map(({ field }) => field),
  }
}
