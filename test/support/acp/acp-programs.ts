import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after } from 'node:test'
import type { SessionEvent } from '../../../src/contract/events.ts'
import type { Prompt } from '../../../src/contract/prompts.ts'
import { eventually } from '../service/eventually.ts'
import { lack } from '../service/lack.ts'
import { send } from '../service/send.ts'
import { startService } from '../service/service.ts'
import { type Script, startScriptedUpstream } from '../upstream/scripted-upstream.ts'

const installed = join(import.meta.dirname, '../../clients/node_modules')
const opencode = join(installed, 'opencode-linux-x64-baseline/bin/opencode')

/** A real program of `test/clients`. */
interface RealProgram {
  readonly title: string
  readonly command: readonly [string, ...string[]]
  readonly api_spec: 'acp' | 'opencode'
}

/** By the alias that `startProgramService` gives them. */
export const realPrograms = {
  claude: { title: 'Claude Code', command: [join(installed, '.bin/claude-agent-acp')], api_spec: 'acp' },
  codex: { title: 'Codex', command: [join(installed, '.bin/codex-acp')], api_spec: 'acp' },
  gemini: { title: 'Gemini CLI', command: [join(installed, '.bin/gemini'), '--acp'], api_spec: 'acp' },
  opencode: { title: 'opencode', command: [opencode, 'acp'], api_spec: 'acp' },
  'opencode-server': { title: 'opencode serve', command: [opencode], api_spec: 'opencode' },
} as const satisfies Readonly<Record<string, RealProgram>>

const isBuilt = process.platform === 'linux' && process.arch === 'x64'

/** Why the programs cannot run here; false where they can. */
export const skipPrograms: string | false =
  lack('bubblewrap') || (!isBuilt && !process.env['CI'] && 'test/clients has the programs for Linux on x64 only')

/** Fails with what to do about it when a program is missing. */
export function checkInstalled({ command: [file] }: RealProgram): void {
  assert.ok(existsSync(file), `${file} is missing: run "npm ci" in test/clients`)
}

/** The programs' own tools for commands. */
const commandTools = ['Bash', 'exec_command', 'run_shell_command', 'bash']

/** Codex asks a person when the model asks it to, and runs nothing without that where the agent's rules ask. */
const leave = { sandbox_permissions: 'require_escalated', justification: 'The file has to be written.' }

/** The call with which a model writes `work.txt` in the workspace; undefined when the request offers no tool for it. */
export function writing(
  body: string,
  { text, asks = false }: { readonly text: string; readonly asks?: boolean },
): { name: string; input: object } | undefined {
  const name = commandTools.find(tool => body.includes(`"name":"${tool}"`))
  const command = `printf '${text.replace('\n', '\\n')}' > work.txt`
  if (name === 'exec_command') return { name, input: { cmd: command, ...(asks && leave) } }
  return name === undefined ? undefined : { name, input: { command, description: 'Write the file' } }
}

/** Two cents an answer of 4,000 tokens in and 16,000 out, and as much is reserved for the next one. */
const perToken = 0.000001

interface ProgramService {
  /** Addresses that the service may call besides its model. */
  readonly allow?: readonly string[]
  /** Entries of `mcp_servers` in the configuration file. */
  readonly mcpServers?: readonly object[]
}

/** The service with all the programs, whose model `scripted` plays `script`; both end after the last test. */
export async function startProgramService(script: Script, { allow = [], mcpServers = [] }: ProgramService = {}) {
  const upstream = await startScriptedUpstream({ script })
  const service = await startService({
    config: JSON.stringify({
      model_list: [
        {
          model_name: 'scripted',
          params: {
            // The length of its answer has a limit, so that a budget can reserve it.
            model: 'anthropic/claude-haiku-4-5',
            api_base: upstream.url,
            api_key: 'sk-upstream',
            input_cost_per_token: perToken,
            output_cost_per_token: perToken,
          },
        },
      ],
      runtime_harnesses: Object.entries(realPrograms).map(([alias, { api_spec, command }]) => ({
        alias,
        api_spec,
        command,
      })),
      mcp_servers: mcpServers,
      outbound: { allow: [`127.0.0.1:${upstream.port}`, ...allow.map(url => new URL(url).host)] },
    }),
  })
  after(() => upstream.stop())

  async function ok<T>(line: string, body?: unknown): Promise<T> {
    const answer = await send(service, line, body === undefined ? {} : { body })
    assert.ok(answer.status < 300, `${line}: ${answer.status} ${answer.text}\n${service.logs()}`)
    return answer.text === '' ? (undefined as T) : answer.json<T>()
  }
  const promptsOf = async (id: string) => (await ok<{ data: Prompt[] }>(`GET /session/${id}/prompts`)).data
  const logOf = async (id: string) =>
    (await ok<{ data: SessionEvent[] }>(`GET /v1/sessions/${id}/events?limit=1000`)).data

  /** The log once `isThere`; fails with all that is known after a while. */
  async function logWhen(id: string, isThere: () => Promise<boolean>, what: string): Promise<SessionEvent[]> {
    await eventually(isThere, { withinMs: 180_000, what: `${what} of ${id}` }).catch(async error =>
      assert.fail(`${String(error)}\n${JSON.stringify(await logOf(id), null, 1)}\n${service.logs()}`),
    )
    return logOf(id)
  }

  return {
    service,
    upstream,
    ok,
    promptsOf,
    logWhen,
    request: (id: string, text: string) =>
      ok(`POST /session/${id}/prompt_async`, { model: { modelID: 'scripted' }, parts: [{ type: 'text', text }] }),
    /** The log, once no prompt is running. */
    settled: (id: string) =>
      logWhen(
        id,
        async () =>
          (await promptsOf(id)).every(
            ({ state, held_by }) => state !== 'running' && (state !== 'waiting' || held_by === 'budget'),
          ),
        'the end of the turn',
      ),
  }
}

/** Why a run was idle; undefined for other events. */
export const reasonOf = (event: SessionEvent | undefined): string | undefined =>
  (event?.stop_reason as { type: string } | undefined)?.type

/** What an event holds, as JSON. */
export const textIn = (event: SessionEvent): string => JSON.stringify(event.content ?? '')
