import { basename } from 'node:path'
import type { GrantedServer } from '../../http/caller.ts'
import { type Json, nonEmptyText, recordOf, textOf } from '../../platform/json.ts'
import { type GrantedMemories, memoryServer } from '../local/memory-server.ts'
import { memoryPermissions, opencodeSettings, opencodeVariables } from '../local/opencode-settings.ts'
import { opencodeRules } from '../local/program-mcp.ts'
import type { Setup, Surroundings } from '../local/programs.ts'
import type { RuntimeEndpoint } from '../runtime.ts'
import { claudeName } from './tool-calls.ts'

/** Task that a program is started for. */
export interface Task {
  readonly model: string
  /** True when its tool calls may need a decision by a person or a rule. */
  readonly needsApproval: boolean
  /** Memory tools of its agent that it may use. */
  readonly memories: GrantedMemories | undefined
  /** MCP servers of its agent that it may use. */
  readonly mcpServers: readonly GrantedServer[]
}

/** Configuration with which a program uses our models. */
export interface ProgramKind {
  readonly name: string
  env(surroundings: Surroundings, task: Task): Readonly<Record<string, string>>
  homeFiles?(surroundings: Surroundings, task: Task): Readonly<Record<string, string>>
  /** Mode to set if it is offered. */
  mode?(surroundings: Surroundings, task: Task): string
  /**
   * Returns the call of an MCP server. Must use only fields that the model cannot write. Absent for programs whose calls
   * do not name the tool.
   */
  mcpCall?(call: Json): McpCall | undefined
  /**
   * Returns true once a call has the name of its tool. A permission request can arrive before the announcement of its
   * call, which alone has the name. Absent for programs that name it in both, or in neither.
   */
  isNamed?(call: Json): boolean
  /** True if it requests permission for each call of an MCP server, by the name of the tool. */
  readonly requestsByTool?: true
  /** Authentication method for a program that requires a login. */
  readonly authMethod?: string
}

/** A call of an MCP server as a program reports it. */
interface McpCall {
  /** `server__tool`. */
  readonly name: string
  /** Undefined where it is the input of the call itself. */
  readonly input?: unknown
}

const claude: ProgramKind = {
  name: 'claude-agent-acp',
  env: ({ gatewayUrl, gatewayKey, isolation }, { model }) => ({
    ANTHROPIC_BASE_URL: gatewayUrl,
    ANTHROPIC_AUTH_TOKEN: gatewayKey,
    ANTHROPIC_MODEL: model,
    ANTHROPIC_SMALL_FAST_MODEL: model,
    ANTHROPIC_DEFAULT_OPUS_MODEL: model,
    ANTHROPIC_DEFAULT_SONNET_MODEL: model,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    ...(isolation === 'sandbox' && { IS_SANDBOX: '1' }),
  }),
  mode: () => 'default',
  requestsByTool: true,
  isNamed: call => textOf(claudeName(call)) !== '',
  mcpCall(call) {
    const prefix = 'mcp__'
    const name = textOf(claudeName(call))
    return name.startsWith(prefix) ? { name: name.slice(prefix.length) } : undefined
  },
}

const codex: ProgramKind = {
  name: 'codex-acp',
  env: ({ gatewayKey, folders }) => ({
    // Below the folder of temporary files, Codex writes nothing and reports success.
    CODEX_HOME: `${folders.home}/.codex`,
    SWITCHYARD_RUN_KEY: gatewayKey,
    OPENAI_API_KEY: gatewayKey,
  }),
  homeFiles: ({ gatewayUrl, isolation }, { model, needsApproval }) => ({
    '.codex/config.toml': [
      `model = ${JSON.stringify(model)}`,
      'model_provider = "switchyard"',
      `approval_policy = "${needsApproval ? 'on-request' : 'never'}"`,
      // Codex cannot create its own sandbox inside ours.
      `sandbox_mode = "${isolation === 'sandbox' ? 'danger-full-access' : 'workspace-write'}"`,
      'check_for_update_on_startup = false',
      '[analytics]',
      'enabled = false',
      '[model_providers.switchyard]',
      'name = "switchyard"',
      `base_url = "${gatewayUrl}/v1"`,
      'env_key = "SWITCHYARD_RUN_KEY"',
      'wire_api = "responses"',
      '',
    ].join('\n'),
  }),
  // Its other modes run commands in Codex's own sandbox, which cannot be created inside ours.
  mode: ({ isolation }, { needsApproval }) =>
    needsApproval ? 'read-only' : isolation === 'sandbox' ? 'agent-full-access' : 'agent',
  // `server` and `tool` are set for calls of MCP servers only; commands use other fields.
  mcpCall({ rawInput }) {
    const { server, tool, arguments: input } = recordOf(rawInput)
    const names = [nonEmptyText(server), nonEmptyText(tool)]
    if (names.includes(undefined)) return undefined
    return { name: names.join('__').replaceAll(/[^A-Za-z0-9_-]/g, '_'), input }
  },
}

const gemini: ProgramKind = {
  name: 'gemini',
  env: ({ gatewayUrl, gatewayKey }, { model }) => ({
    GEMINI_API_KEY: gatewayKey,
    GOOGLE_GEMINI_BASE_URL: gatewayUrl,
    GEMINI_MODEL: model,
    GEMINI_CLI_TRUST_WORKSPACE: 'true',
  }),
  homeFiles: (_surroundings, { memories, mcpServers }) => ({
    // Gemini's permission requests do not name the tool.
    '.gemini/policies/switchyard.toml': [{ name: memoryServer, tools: memories?.tools ?? {} }, ...mcpServers]
      .flatMap(({ name, tools }) =>
        Object.entries(tools).flatMap(([tool, policy]) => (policy === 'allow' ? [geminiRule(name, tool)] : [])),
      )
      .join('\n'),
    '.gemini/settings.json': JSON.stringify({
      security: { auth: { selectedType: 'gemini-api-key' } },
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
      general: { disableAutoUpdate: true, disableUpdateNag: true },
    }),
  }),
  mode: (_surroundings, { needsApproval }) => (needsApproval ? 'default' : 'yolo'),
  authMethod: 'gemini-api-key',
}

const geminiRule = (server: string, tool: string): string =>
  [
    '[[rule]]',
    `mcpName = ${JSON.stringify(server)}`,
    `toolName = ${JSON.stringify(tool)}`,
    'decision = "allow"',
    'priority = 100',
    '',
  ].join('\n')

const opencode: ProgramKind = {
  name: 'opencode',
  env: () => opencodeVariables,
  homeFiles: (surroundings, { model, needsApproval, memories, mcpServers }) => ({
    '.config/opencode/opencode.json': JSON.stringify({
      ...opencodeSettings(surroundings, model),
      // The last matching rule applies.
      permission: {
        '*': needsApproval ? 'ask' : 'allow',
        ...memoryPermissions(memories?.tools ?? {}),
        ...opencodeRules(mcpServers),
      },
    }),
  }),
}

/** Any other program: it gets the variables that most programs read. */
const unknownProgram: ProgramKind = {
  name: 'program',
  env: ({ gatewayUrl, gatewayKey }, { model }) => ({
    ANTHROPIC_BASE_URL: gatewayUrl,
    ANTHROPIC_AUTH_TOKEN: gatewayKey,
    ANTHROPIC_MODEL: model,
    OPENAI_BASE_URL: `${gatewayUrl}/v1`,
    OPENAI_API_KEY: gatewayKey,
    OPENAI_MODEL: model,
    GOOGLE_GEMINI_BASE_URL: gatewayUrl,
    GEMINI_API_KEY: gatewayKey,
  }),
}

const kinds = [claude, codex, gemini, opencode]

/**
 * Returns the kind of a command, from the name of its program, or from the package of a script that is run with `node`.
 */
export function programKind(command: readonly string[]): ProgramKind {
  const [program = '', script = ''] = command
  const words = basename(program) === 'node' ? script.split('/').reverse() : [basename(program)]
  return kinds.find(({ name }) => words.some(word => word === name || word === `${name}.js`)) ?? unknownProgram
}

/** Returns how the program of an endpoint is started. Variables of the configuration file take precedence. */
export function setupOf(
  { command = [], env }: Pick<RuntimeEndpoint, 'command' | 'env'>,
  surroundings: Surroundings,
  task: Task,
): Setup {
  const kind = programKind(command)
  return {
    command,
    env: { ...kind.env(surroundings, task), ...env },
    homeFiles: kind.homeFiles?.(surroundings, task) ?? {},
  }
}
