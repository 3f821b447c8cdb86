import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { Prompt, Session } from '../../src/contract/sessions.ts'
import type { UsageCall } from '../../src/contract/usage.ts'
import { eventually } from '../support/eventually.ts'
import { lack } from '../support/lack.ts'
import type { Answer } from '../support/scripted-answer.ts'
import { type Recorded, startScriptedUpstream } from '../support/scripted-upstream.ts'
import { send } from '../support/send.ts'
import { type Service, startService } from '../support/service.ts'

const installed = join(import.meta.dirname, '../clients/node_modules')
const fileText = 'written by a program\n'
const command = `printf '${fileText.replace('\n', '\\n')}' > work.txt`

interface Program {
  readonly title: string
  readonly command: readonly string[]
  /** The call with which the model writes the file, and what in a request shows that it could. */
  readonly call: { readonly name: string; readonly input: object }
  readonly offer: string
}

const programs: Readonly<Record<string, Program>> = {
  claude: {
    title: 'Claude Code',
    command: [join(installed, '.bin/claude-agent-acp')],
    call: { name: 'Bash', input: { command, description: 'Write the file' } },
    offer: '"name":"Bash"',
  },
  codex: {
    title: 'Codex',
    command: [join(installed, '.bin/codex-acp')],
    call: { name: 'exec_command', input: { cmd: command } },
    offer: '"name":"exec_command"',
  },
  gemini: {
    title: 'Gemini CLI',
    command: [join(installed, '.bin/gemini'), '--acp'],
    call: { name: 'run_shell_command', input: { command, description: 'Write the file' } },
    offer: '"name":"run_shell_command"',
  },
  opencode: {
    title: 'opencode',
    command: [join(installed, 'opencode-linux-x64-baseline/bin/opencode'), 'acp'],
    call: { name: 'bash', input: { command, description: 'Write the file' } },
    offer: '"name":"bash"',
  },
}

/** Each session talks of its own mark, so that its requests can be told from others. */
const markOf = (body: string): string | undefined => /MARK-(\w+)/.exec(body)?.[1]

function script({ rawBody }: Recorded): Answer {
  const body = rawBody.toString()
  const program = Object.values(programs).find(({ offer }) => body.includes(offer))
  // Side questions, such as for a title, offer no tools.
  if (!program || markOf(body) === undefined) return { text: 'ok' }
  if (body.includes('It is being written.')) return { text: 'The file is written.', usage: costly }
  return { text: 'It is being written.', tool_calls: [program.call], usage: costly }
}

/** Two cents an answer, and as much may be held for the next one. */
const perToken = 0.000001
const costly = { input_tokens: 4_000, output_tokens: 16_000 }

const upstream = await startScriptedUpstream({ script })
const service: Service = await startService({
  config: JSON.stringify({
    model_list: [
      {
        model_name: 'scripted',
        params: {
          // It is known how much this one answers at most, so that a budget can be held against it.
          model: 'anthropic/claude-haiku-4-5',
          api_base: upstream.url,
          api_key: 'sk-upstream',
          input_cost_per_token: perToken,
          output_cost_per_token: perToken,
        },
      },
    ],
    runtime_harnesses: Object.entries(programs).map(([alias, { command }]) => ({ alias, api_spec: 'acp', command })),
    outbound: { allow: [`127.0.0.1:${upstream.port}`] },
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
const ask = (id: string, text: string) =>
  ok(`POST /session/${id}/prompt_async`, { model: { modelID: 'scripted' }, parts: [{ type: 'text', text }] })

/** The log, once the prompt is not at work any more. */
async function settled(id: string): Promise<SessionEvent[]> {
  await eventually(
    async () =>
      (await promptsOf(id)).every(
        ({ state, held_by }) => state !== 'running' && (state !== 'waiting' || held_by === 'budget'),
      ),
    {
      withinMs: 90_000,
      what: `the end of the turn of ${id}`,
    },
  ).catch(async error =>
    assert.fail(`${String(error)}\n${JSON.stringify(await logOf(id), null, 1)}\n${service.logs()}`),
  )
  return logOf(id)
}

const textIn = (event: SessionEvent) => JSON.stringify(event['content'] ?? '')
const reasonOf = (event: SessionEvent | undefined) => (event?.['stop_reason'] as { type: string } | undefined)?.type

const isBuilt = process.platform === 'linux' && process.arch === 'x64'
const skip =
  lack('bubblewrap') || (!isBuilt && !process.env['CI'] && 'test/clients has the programs for Linux on x64 only')

for (const [
  alias,
  {
    title,
    command: [file = ''],
  },
] of Object.entries(programs)) {
  test(`${title} (ACP) completes a turn with a tool in the sandbox, by way of the gateway`, { skip }, async () => {
    assert.ok(existsSync(file), `${file} is missing: run "npm ci" in test/clients`)
    const { id } = await ok<Session>('POST /session', { runtime: alias })
    await ask(id, `Write the file. MARK-${alias}`)
    const log = await settled(id)
    const told = JSON.stringify(log, null, 1)
    assert.equal(reasonOf(log.at(-1)), 'end_turn', `${told}\n${service.logs()}`)
    const said = log
      .filter(({ type }) => type === 'agent.message')
      .map(textIn)
      .join('')
    assert.match(said, /It is being written\..*The file is written\./s, told)
    const uses = log.filter(({ type }) => type === 'agent.tool_use')
    const results = log.filter(({ type }) => type === 'agent.tool_result')
    assert.deepEqual(
      results.map(event => [event['tool_use_id'], event['is_error']]),
      [[uses[0]?.['tool_use_id'], false]],
      told,
    )
    assert.equal(await readFile(join(service.dataDir, 'workspaces', id, 'work.txt'), 'utf8'), fileText)

    const calls = await eventually(
      async () => {
        const booked = (await ok<{ calls: UsageCall[] }>(`GET /api/usage/calls?session_id=${id}&limit=200`)).calls
        return booked.length >= 2 && booked
      },
      { what: 'the booking of its calls on the session' },
    )
    const runs = new Set(calls.map(({ run_id }) => run_id))
    assert.deepEqual([...runs], [log.find(({ type }) => type === 'session.status_running')?.['run_id']])
    for (const { headers } of upstream.requests)
      assert.ok(!JSON.stringify(headers).includes('sk-run-'), 'its key never leaves')
  })
}

for (const [alias, { title }] of Object.entries(programs)) {
  test(`${title} (ACP) is stopped by the budget of its session, and goes on once that is raised`, {
    skip,
  }, async () => {
    const { id } = await ok<Session>('POST /session', { runtime: alias })
    await ok(`PUT /api/budgets/session/${id}`, { max_budget: 0.000001 })
    await ask(id, `Write the file. MARK-${alias}`)
    const log = await settled(id)
    assert.equal(reasonOf(log.at(-1)), 'budget_reached', JSON.stringify(log, null, 1))
    await ok(`PUT /api/budgets/session/${id}`, { max_budget: 10 })
    await eventually(async () => (await promptsOf(id)).every(({ state }) => state === 'done'), { withinMs: 90_000 })
    assert.equal(await readFile(join(service.dataDir, 'workspaces', id, 'work.txt'), 'utf8'), fileText)
  })
}
