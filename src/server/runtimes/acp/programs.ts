import { basename } from 'node:path'
import { type Json, nonEmptyText, recordOf, textOf } from '../../platform/json.ts'
import { type LentMemories, memoryServer } from '../local/memory-server.ts'
import { memoryPermissions, opencodeSettings, opencodeVariables } from '../local/opencode-settings.ts'
import type { Setup, Surroundings } from '../local/programs.ts'
import type { RuntimeEndpoint } from '../runtime.ts'
import { claudeName } from './tool-calls.ts'

/** What a program is started for. */
export interface Task {
  readonly model: string
  /** True when a person or a rule may have to be asked about its tools. */
  readonly asks: boolean
  /** What it can use of its agent's memories. */
  readonly memories: LentMemories | undefined
}

/** What a program needs so that it calls our models. */
export interface ProgramKind {
  readonly name: string
  env(surroundings: Surroundings, task: Task): Readonly<Record<string, string>>
  homeFiles?(surroundings: Surroundings, task: Task): Readonly<Record<string, string>>
  /** The mode to set when it is offered. */
  mode?(surroundings: Surroundings, task: Task): string
  /** The name of the memory tool that a call is for. Only by what the model cannot write itself. */
  memoryTool?(call: Json): string | undefined
  /** How it logs in when it says that it must. */
  readonly authMethod?: string
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
  memoryTool(call) {
    const prefix = `mcp__${memoryServer}__`
    const name = textOf(claudeName(call))
    return name.startsWith(prefix) ? name.slice(prefix.length) : undefined
  },
}

const codex: ProgramKind = {
  name: 'codex-acp',
  env: ({ gatewayKey, folders }) => ({
    // Below the folder of temporary files it would write nothing, and report success.
    CODEX_HOME: `${folders.home}/.codex`,
    SWITCHYARD_RUN_KEY: gatewayKey,
    OPENAI_API_KEY: gatewayKey,
  }),
  homeFiles: ({ gatewayUrl, isolation }, { model, asks }) => ({
    '.codex/config.toml': [
      `model = ${JSON.stringify(model)}`,
      'model_provider = "switchyard"',
      `approval_policy = "${asks ? 'on-request' : 'never'}"`,
      // Its own sandbox needs what ours takes away.
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
  // Its other modes run commands in a sandbox of its own, which cannot be made inside ours.
  mode: ({ isolation }, { asks }) => (asks ? 'read-only' : isolation === 'sandbox' ? 'agent-full-access' : 'agent'),
  // Of a call to an MCP server it says which one; what a command runs is in other fields.
  memoryTool({ rawInput }) {
    const { server, tool } = recordOf(rawInput)
    return server === memoryServer ? nonEmptyText(tool) : undefined
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
  homeFiles: (_surroundings, { memories }) => ({
    // Its questions do not tell which tool they are about.
    '.gemini/policies/switchyard.toml': Object.entries(memories?.tools ?? {})
      .filter(([, policy]) => policy === 'allow')
      .map(([name]) => geminiRule(name))
      .join('\n'),
    '.gemini/settings.json': JSON.stringify({
      security: { auth: { selectedType: 'gemini-api-key' } },
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
      general: { disableAutoUpdate: true, disableUpdateNag: true },
    }),
  }),
  mode: (_surroundings, { asks }) => (asks ? 'default' : 'yolo'),
  authMethod: 'gemini-api-key',
}

const geminiRule = (toolName: string): string =>
  [
    '[[rule]]',
    `mcpName = "${memoryServer}"`,
    `toolName = "${toolName}"`,
    'decision = "allow"',
    'priority = 100',
    '',
  ].join('\n')

const opencode: ProgramKind = {
  name: 'opencode',
  env: () => opencodeVariables,
  homeFiles: (surroundings, { model, asks, memories }) => ({
    '.config/opencode/opencode.json': JSON.stringify({
      ...opencodeSettings(surroundings, model),
      // The last rule that fits counts.
      permission: { '*': asks ? 'ask' : 'allow', ...memoryPermissions(memories?.tools ?? {}) },
    }),
  }),
}

/** A program of which nothing is known: it finds our models by the variables that most programs read. */
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

const known = [claude, codex, gemini, opencode]

/** The kind of a command, by the name of its program, or by the package that a script given to `node` is in. */
export function programKind(command: readonly string[]): ProgramKind {
  const [program = '', script = ''] = command
  const words = basename(program) === 'node' ? script.split('/').reverse() : [basename(program)]
  return known.find(({ name }) => words.some(word => word === name || word === `${name}.js`)) ?? unknownProgram
}

/** How the program of an endpoint is started there. Variables of the configuration file win. */
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
