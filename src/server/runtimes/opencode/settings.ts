import type { GrantedServer } from '../../http/caller.ts'
import { memoryTools, type ToolPolicy, toolsFor } from '../../tools/toolset.ts'
import { type GrantedMemories, memoryServer, memoryServerAt } from '../local/memory-server.ts'
import { memoryPermissions, opencodeSettings, opencodeVariables } from '../local/opencode-settings.ts'
import { opencodeRules, serverAt } from '../local/program-mcp.ts'
import type { Setup, Surroundings } from '../local/programs.ts'
import type { RuntimeEndpoint } from '../runtime.ts'

/** Task that a server is started for; another task needs a restart. */
export interface Task {
  readonly model: string
  readonly permission: Readonly<Record<string, ToolPolicy>>
  /** Memory tools of its agent that it may use. */
  readonly memories: GrantedMemories | undefined
  /** MCP servers of its agent that it may use. */
  readonly mcpServers: readonly GrantedServer[]
}

interface Launch extends Task {
  readonly port: number
  readonly password: string
}

/** opencode's permissions with the corresponding tools of ours. */
const toolsOfPermission = {
  bash: ['bash'],
  read: ['read'],
  edit: ['edit', 'write'],
  glob: ['glob'],
  grep: ['grep'],
} as const

const strictness: readonly ToolPolicy[] = ['deny', 'ask', 'allow']

/**
 * Converts an agent's `tools` to opencode's permissions; a tool that the agent does not have is denied. Other abilities
 * of opencode are allowed if all these tools are, and otherwise ask.
 */
export function permissionsOf(agentTools: unknown, mcpServers: readonly GrantedServer[] = []): Task['permission'] {
  const policies = new Map(toolsFor(agentTools).tools.map(({ tool, policy }) => [tool.name, policy]))
  const named = Object.entries(toolsOfPermission).map(([name, tools]) => {
    const all = tools.map(tool => policies.get(tool) ?? 'deny')
    return [name, strictness.find(policy => all.includes(policy)) ?? 'deny'] as const
  })
  const rest = named.every(([, policy]) => policy === 'allow') ? 'allow' : 'ask'
  const ofMemories = Object.fromEntries(memoryTools.map(({ name }) => [name, policies.get(name) ?? 'deny'] as const))
  // The last matching rule applies.
  return {
    '*': rest,
    ...Object.fromEntries(named),
    ...memoryPermissions(ofMemories),
    ...opencodeRules(mcpServers),
    question: 'deny',
  }
}

/** Returns how a server is started. Variables of the configuration file take precedence. Dialects: section 2.2. */
export function setupOf(
  { command = [], env }: Pick<RuntimeEndpoint, 'command' | 'env'>,
  surroundings: Surroundings,
  { model, permission, memories, mcpServers, port, password }: Launch,
): Setup {
  const servers = [
    ...(memories ? [[memoryServer, memoryServerAt(surroundings, memories)] as const] : []),
    ...mcpServers.map(server => [server.name, serverAt(surroundings, server)] as const),
  ]
  const mcp = Object.fromEntries(servers.map(([name, place]) => [name, { type: 'remote', ...place, oauth: false }]))
  const settings = { ...opencodeSettings(surroundings, model), permission, ...(servers.length > 0 && { mcp }) }
  const serve = command.includes('serve') ? [] : ['serve']
  return {
    command: [...command, ...serve, '--port', String(port), '--hostname', '127.0.0.1'],
    env: {
      ...opencodeVariables,
      OPENCODE_CONFIG_CONTENT: JSON.stringify(settings),
      // A configuration file in the workspace, which the agent may write, could loosen a rule.
      ...(Object.values(permission).includes('ask') && { OPENCODE_DISABLE_PROJECT_CONFIG: '1' }),
      OPENCODE_SERVER_PASSWORD: password,
      ...env,
    },
  }
}
