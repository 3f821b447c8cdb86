import { memoryTools, type ToolPolicy, toolsFor } from '../../tools/toolset.ts'
import { type LentMemories, memoryServer, memoryServerAt } from '../local/memory-server.ts'
import { memoryPermissions, opencodeSettings, opencodeVariables } from '../local/opencode-settings.ts'
import type { Setup, Surroundings } from '../local/programs.ts'
import type { RuntimeEndpoint } from '../runtime.ts'

/** What a server is started for; with another task it is started anew. */
export interface Task {
  readonly model: string
  readonly permission: Readonly<Record<string, ToolPolicy>>
  /** What it can use of its agent's memories. */
  readonly memories: LentMemories | undefined
}

interface Launch extends Task {
  readonly port: number
  readonly password: string
}

/** Names of opencode's permissions, and the tools of ours that they stand for. */
const toolsOfPermission = {
  bash: ['bash'],
  read: ['read'],
  edit: ['edit', 'write'],
  glob: ['glob'],
  grep: ['grep'],
} as const

const strictness: readonly ToolPolicy[] = ['deny', 'ask', 'allow']

/**
 * What an agent's `tools` say, in opencode's words; a tool that the agent does not have is denied. What opencode can do
 * besides is allowed when all else is, and has to be asked for when not.
 */
export function permissionsOf(agentTools: unknown): Task['permission'] {
  const policies = new Map(toolsFor(agentTools).tools.map(({ tool, policy }) => [tool.name, policy]))
  const named = Object.entries(toolsOfPermission).map(([name, tools]) => {
    const all = tools.map(tool => policies.get(tool) ?? 'deny')
    return [name, strictness.find(policy => all.includes(policy)) ?? 'deny'] as const
  })
  const rest = named.every(([, policy]) => policy === 'allow') ? 'allow' : 'ask'
  const ofMemories = Object.fromEntries(memoryTools.map(({ name }) => [name, policies.get(name) ?? 'deny'] as const))
  // The last rule that fits counts.
  return { '*': rest, ...Object.fromEntries(named), ...memoryPermissions(ofMemories), question: 'deny' }
}

/** How a server is started there. Variables of the configuration file win. Dialects: section 2.2. */
export function setupOf(
  { command = [], env }: Pick<RuntimeEndpoint, 'command' | 'env'>,
  surroundings: Surroundings,
  { model, permission, memories, port, password }: Launch,
): Setup {
  const mcp = memories && {
    [memoryServer]: { type: 'remote', ...memoryServerAt(surroundings, memories), oauth: false },
  }
  const settings = { ...opencodeSettings(surroundings, model), permission, ...(mcp && { mcp }) }
  const serve = command.includes('serve') ? [] : ['serve']
  return {
    command: [...command, ...serve, '--port', String(port), '--hostname', '127.0.0.1'],
    env: {
      ...opencodeVariables,
      OPENCODE_CONFIG_CONTENT: JSON.stringify(settings),
      // A file in the workspace, which the agent itself may write, could loosen a rule.
      ...(Object.values(permission).includes('ask') && { OPENCODE_DISABLE_PROJECT_CONFIG: '1' }),
      OPENCODE_SERVER_PASSWORD: password,
      ...env,
    },
  }
}
