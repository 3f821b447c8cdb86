import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { RuntimeTest } from '../../src/contract/runtimes.ts'
import type { Session } from '../../src/contract/sessions.ts'
import type { UsageCall } from '../../src/contract/usage.ts'
import {
  checkInstalled,
  realPrograms,
  reasonOf,
  skipPrograms,
  startProgramService,
  textIn,
  writing,
} from '../support/acp/acp-programs.ts'
import { eventually } from '../support/service/eventually.ts'
import type { Answer } from '../support/upstream/scripted-answer.ts'
import type { Recorded } from '../support/upstream/scripted-upstream.ts'

const fileText = 'written by a program\n'
const { 'opencode-server': _server, ...programs } = realPrograms

/** Each session talks of its own mark, so that its requests can be distinguished from others. */
const markOf = (body: string): string | undefined => /MARK-(\w+)/.exec(body)?.[1]

function script({ rawBody }: Recorded): Answer {
  const body = rawBody.toString()
  const call = writing(body, { text: fileText })
  // Side questions, such as for a title, offer no tools.
  if (!call || markOf(body) === undefined) return { text: 'ok' }
  if (body.includes('It is being written.')) return { text: 'The file is written.', usage: costly }
  return { text: 'It is being written.', tool_calls: [call], usage: costly }
}

/** Two cents an answer, and as much is reserved for the next one. */
const costly = { input_tokens: 4_000, output_tokens: 16_000 }

const { service, upstream, ok, promptsOf, request: ask, settled } = await startProgramService(script)

for (const [alias, program] of Object.entries(programs)) {
  test(`${program.title} (ACP) is stopped by the budget of its session; with more it completes a turn with a tool in the sandbox, by way of the gateway`, {
    skip: skipPrograms,
  }, async () => {
    checkInstalled(program)
    const { id } = await ok<Session>('POST /session', { runtime: alias })
    await ok(`PUT /api/budgets/session/${id}`, { max_budget: 0.000001 })
    await ask(id, `Write the file. MARK-${alias}`)
    const stopped = await settled(id)
    assert.equal(reasonOf(stopped.at(-1)), 'budget_reached', JSON.stringify(stopped, null, 1))
    await ok(`PUT /api/budgets/session/${id}`, { max_budget: 10 })
    await eventually(async () => (await promptsOf(id)).every(({ state }) => state === 'done'), { withinMs: 180_000 })

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
    const runs = log.filter(({ type }) => type === 'session.status_running').map(event => event['run_id'])
    for (const { run_id } of calls) assert.ok(runs.includes(run_id), told)
    for (const { headers } of upstream.requests)
      assert.ok(!JSON.stringify(headers).includes('sk-run-'), 'its key never leaves')
  })
}

for (const [alias, program] of Object.entries(programs)) {
  test(`E5: a check of ${program.title} (ACP) opens a session without a prompt`, { skip: skipPrograms }, async () => {
    checkInstalled(program)
    const { ok: isOk, error } = await ok<RuntimeTest>(`POST /api/runtime-harnesses/${alias}/test`)
    assert.deepEqual([isOk, error], [true, undefined], service.logs())
  })
}
