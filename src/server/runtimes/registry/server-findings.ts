import type { SettingSupport } from '../../config/runtime-specs.ts'
import { isAbsent, isRecord, type Json } from '../../platform/json.ts'
import { enabledServers, serverEntryProblem } from '../../tools/mcp-toolset.ts'
import type { Finding } from '../runtime.ts'

interface RequestedServers {
  readonly support: SettingSupport
  readonly tools: unknown
  readonly config: Json
}

const place = 'config.mcp_servers'

/** Lists the entries of `config.mcp_servers` that are invalid, that the runtime does not support, or that have no effect. */
export function serverFindings({ support, tools, config }: RequestedServers): Finding[] {
  const { mcp_servers: entries } = config
  if (isAbsent(entries)) return []
  if (!Array.isArray(entries)) return [{ field: place, problem: 'must be a list' }]
  if (entries.length > 0 && support.mcpServers === 'none')
    return [{ field: place, problem: 'is not supported: the runtime does not call MCP servers' }]
  const enabled = new Set(enabledServers(tools, config).map(({ name }) => name))
  const names: string[] = []
  return entries.flatMap((entry: unknown, at): Finding[] => {
    const field = `${place}[${at}]`
    const wrong = serverEntryProblem(entry, names)
    if (wrong) return [{ field: `${field}${wrong.field}`, problem: wrong.problem }]
    const name = String(isRecord(entry) ? entry['name'] : entry)
    names.push(name)
    if (support.mcpServers === 'urls' && !isRecord(entry))
      return [{ field, problem: 'must have a URL: the runtime cannot use servers that are registered here' }]
    // An agent whose `tools` name some tools has only those.
    return enabled.has(name) ? [] : [{ field }]
  })
}
