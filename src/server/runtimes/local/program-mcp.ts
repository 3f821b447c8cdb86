import type { GrantedServer } from '../../http/caller.ts'
import type { McpPlace } from '../../tools/tool-source.ts'
import type { ToolPolicy } from '../../tools/toolset.ts'

/** MCP servers of a session's agent for one run of a program, and the approvals of its calls. */
export type ProgramMcp = ReturnType<typeof createProgramMcp>

/** `approved` has the number of allowed calls that have not run yet, by tool. */
export function createProgramMcp(servers: readonly GrantedServer[]) {
  const approved = new Map<string, number>()
  const keyOf = ({ server, tool }: McpPlace) => JSON.stringify([server, tool])
  const policyOf = ({ server, tool }: McpPlace): ToolPolicy | undefined => {
    const { tools = {} } = servers.find(({ name }) => name === server) ?? {}
    return Object.hasOwn(tools, tool) ? tools[tool] : undefined
  }
  const places = servers.flatMap(({ name: server, tools }) => Object.keys(tools).map(tool => ({ server, tool })))
  // Of two tools with one name in the program, the one that needs approval decides.
  const strictLast = places.toSorted((a, b) => Number(policyOf(a) === 'ask') - Number(policyOf(b) === 'ask'))
  const byName = new Map(strictLast.map(place => [plainName(place), place]))
  return {
    servers,
    /** Returns the granted tool that a program calls `server__tool`. */
    placeOf: (name: string | undefined): McpPlace | undefined => byName.get(name ?? ''),
    /** Returns the policy of a tool; undefined for one that is not granted. */
    policyOf,
    /** True when a person decides about calls of some tool. */
    needsApproval: servers.some(({ tools }) => Object.values(tools).includes('ask')),
    /** Allows one call of a tool. */
    approve: (place: McpPlace): void => void approved.set(keyOf(place), (approved.get(keyOf(place)) ?? 0) + 1),
    /** Returns true for a call that may run; uses up the approval of a tool that needs one. */
    mayCall(place: McpPlace): boolean {
      if (policyOf(place) === 'allow') return true
      const left = approved.get(keyOf(place)) ?? 0
      if (left > 0) approved.set(keyOf(place), left - 1)
      return left > 0
    },
  }
}

/** Returns the servers without the tools that need approval, for a program that does not say which tool it asks about. */
export const withoutQuestions = (servers: readonly GrantedServer[]): GrantedServer[] =>
  servers.map(server => ({
    ...server,
    tools: Object.fromEntries(Object.entries(server.tools).filter(([, policy]) => policy === 'allow')),
  }))

/** Programs replace other characters than these in names. */
const plainName = ({ server, tool }: McpPlace): string => `${server}__${tool}`.replaceAll(/[^A-Za-z0-9_-]/g, '_')

/** Returns address and headers of a server for a program; they work while a run is granted. */
export const serverAt = (
  { gatewayUrl, gatewayKey }: { readonly gatewayUrl: string; readonly gatewayKey: string },
  { name }: Pick<GrantedServer, 'name'>,
) => ({
  url: `${gatewayUrl}/mcp/${encodeURIComponent(name)}`,
  headers: { Authorization: `Bearer ${gatewayKey}` },
})

/** Returns the name that opencode gives to a tool of an MCP server. */
const opencodeToolName = ({ server, tool }: McpPlace): string => `${server}_${tool}`.replaceAll(/[^A-Za-z0-9_-]/g, '_')

/** Returns the granted tools by the names that opencode gives them. */
export const opencodeTools = (servers: readonly GrantedServer[]): ReadonlyMap<string, McpPlace> =>
  new Map(
    servers.flatMap(({ name: server, tools }) =>
      Object.keys(tools).map(tool => [opencodeToolName({ server, tool }), { server, tool }] as const),
    ),
  )

/** Returns opencode's rules for the granted tools. */
export const opencodeRules = (servers: readonly GrantedServer[]): Record<string, 'allow' | 'ask'> =>
  Object.fromEntries(
    servers.flatMap(({ name: server, tools }) =>
      Object.entries(tools).map(([tool, policy]) => [opencodeToolName({ server, tool }), policy]),
    ),
  )
