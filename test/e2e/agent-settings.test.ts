import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent, AgentFieldChange, AgentFile } from '../../src/contract/agents.ts'
import type { Budget } from '../../src/contract/budgets.ts'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { Prompt } from '../../src/contract/prompts.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { bash, saying, startScriptedService } from '../support/upstream/scripted-service.ts'

const { service, upstream } = await startScriptedService()
const own = { name: 'Ada', owner_id: 'team' }

async function done<T>(line: string, body?: unknown, target = service): Promise<T> {
  const answer = await send(target, line, body === undefined ? {} : { body })
  assert.ok(answer.status < 300, `${line}: ${answer.status} ${answer.text}`)
  return answer.status === 204 ? (undefined as T) : answer.json<T>()
}
const create = (fields: object = {}) => done<Agent>('POST /api/agents', { ...own, ...fields })
const patch = ({ id }: Agent, fields: object) => done<Agent>(`PATCH /api/agents/${id}`, { ...own, ...fields })
const start = (fields: object) => done<Session>('POST /session', fields)
const messageOf = (text: string, fields: object = {}) => ({
  model: { modelID: 'scripted' },
  parts: [{ type: 'text', text }],
  ...fields,
})
const ask = ({ id }: Session, text = 'hello') => done(`POST /session/${id}/message`, messageOf(text))
const systemSeen = () => JSON.stringify(upstream.requests.at(-1)?.body['system'])
const lastEvents = async ({ id }: Session) =>
  (await done<{ data: SessionEvent[] }>(`GET /v1/sessions/${id}/events?limit=1000`)).data

test('GET …/versions/{version}/diff returns what has changed, texts line by line, config by its keys', async () => {
  const agent = await create({ system: 'one\ntwo\nthree', config: { a: 1, b: { c: 1 } } })
  await patch(agent, { system: 'one\n2\nthree', config: { a: null, b: { c: 2 } }, name: 'Bea' })
  const path = `/api/agents/${agent.id}/versions`
  const diff = await done<{ from: number; to: number; changes: AgentFieldChange[] }>(`GET ${path}/1/diff`)
  assert.deepEqual([diff.from, diff.to], [1, 2])
  assert.deepEqual(diff.changes, [
    { field: 'name', before: 'Ada', after: 'Bea' },
    {
      field: 'system',
      before: 'one\ntwo\nthree',
      after: 'one\n2\nthree',
      lines: [
        { op: 'same', text: 'one' },
        { op: 'removed', text: 'two' },
        { op: 'added', text: '2' },
        { op: 'same', text: 'three' },
      ],
    },
    { field: 'config.a', before: 1, after: null },
    { field: 'config.b', before: { c: 1 }, after: { c: 2 } },
  ])
  assert.deepEqual(await done(`GET ${path}/2/diff?to=2`), { from: 2, to: 2, changes: [] })
  assert.equal((await done<{ agent: Agent }>(`GET ${path}/1`)).agent.name, 'Ada')
  for (const [line, status] of [
    [`GET ${path}/9/diff`, 404],
    [`GET ${path}/1/diff?to=9`, 404],
    [`GET ${path}/1/diff?to=x`, 400],
    [`GET ${path}/9`, 404],
    ['GET /api/agents/nothing/versions/1/diff', 404],
  ] as const)
    assert.equal((await send(service, line)).status, status, line)
})

test('a session runs the version that it names, else the one pinned in config, else the current one', async () => {
  const agent = await create({ system: 'FIRST' })
  await patch(agent, { system: 'SECOND' })
  await patch(agent, { system: 'THIRD', config: { pinned_version: 2 } })
  for (const [fields, version, system] of [
    [{}, 2, /SECOND/],
    [{ agent_version: 1 }, 1, /FIRST/],
    [{ agent_version: 3 }, 3, /THIRD/],
  ] as const) {
    const session = await start({ agent_id: agent.id, ...fields })
    assert.equal(session.agent_version, version)
    await ask(session)
    assert.match(systemSeen(), system)
  }
  const unknown = await send(service, 'POST /session', { body: { agent_id: agent.id, agent_version: 9 } })
  assert.deepEqual(
    [unknown.status, unknown.json<{ error: { message: string } }>().error.message],
    [404, 'version 9 not found'],
  )
  await patch(agent, { config: { pinned_version: null } })
  assert.equal((await start({ agent_id: agent.id })).agent_version, 4)
})

test('settings that the engine could not follow are rejected by their names', async () => {
  const agent = await create()
  for (const [config, field] of [
    [{ max_turns: 0 }, 'max_turns'],
    [{ max_turns: '3' }, 'max_turns'],
    [{ time_limit_seconds: 0.5 }, 'time_limit_seconds'],
    [{ busy_mode: 'wait' }, 'busy_mode'],
    [{ session_max_budget: 0 }, 'session_max_budget'],
    [{ pinned_version: 7 }, 'pinned_version'],
    [{ context: 4_000 }, 'context'],
    [{ context: { max_input_tokens: 10 } }, 'context.max_input_tokens'],
    [{ context: { kept_tokens: -1 } }, 'context.kept_tokens'],
    [{ context: { max_tokens: 10 } }, 'context.max_tokens'],
  ] as const) {
    for (const line of ['POST /api/agents', `PATCH /api/agents/${agent.id}`]) {
      const { status, text } = await send(service, line, { body: { ...own, config } })
      assert.equal(status, 400, `${line}: ${text}`)
      assert.match(text, new RegExp(`"config.${field} `))
    }
  }
})

test('config.max_turns ends a run that has taken so many', async () => {
  const session = await start({ agent_id: (await create({ config: { max_turns: 2 } })).id })
  await ask(session, saying(bash('echo 1'), bash('echo 2'), bash('echo 3'), { text: 'done' }))
  const last = (await lastEvents(session)).at(-1)
  assert.equal((last?.error as { type: string } | undefined)?.type, 'tool_use_limit_reached_error')
})

test('config.time_limit_seconds ends a run that takes longer, and the next prompt runs', async () => {
  const session = await start({ agent_id: (await create({ config: { time_limit_seconds: 1 } })).id })
  await ask(session, saying({ text: 'late', delayMs: 20_000 }))
  const last = (await lastEvents(session)).at(-1)
  assert.equal(last?.type, 'session.error')
  assert.match(JSON.stringify(last?.error), /time limit of its agent \(1 s\)/)
  await ask(session, saying({ text: 'in time' }))
  assert.equal((await lastEvents(session)).at(-1)?.type, 'session.status_idle')
})

test('config.busy_mode is what a prompt does unless it names a mode', async () => {
  const session = await start({ agent_id: (await create({ config: { busy_mode: 'reject' } })).id })
  const path = `/session/${session.id}/prompt_async`
  const quick = saying({ text: 'quick' })
  const states = async () => {
    const { data } = await done<{ data: Prompt[] }>(`GET /session/${session.id}/prompts`)
    const all = data.map(({ state }) => state)
    return all.sort().join()
  }
  await done(`POST ${path}`, messageOf(saying({ text: 'slow', delayMs: 20_000 })))
  await eventually(async () => (await states()) === 'running')
  assert.equal((await send(service, `POST ${path}`, { body: messageOf('again') })).status, 409)
  const sent = { events: [{ type: 'user.message', content: [{ type: 'text', text: 'again' }] }] }
  assert.equal((await send(service, `POST /v1/sessions/${session.id}/events`, { body: sent })).status, 409)
  await done(`POST ${path}`, messageOf(quick, { mode: 'enqueue' }))
  await done(`POST ${path}`, messageOf(quick, { mode: 'interrupt' }))
  await eventually(async () => (await states()) === 'cancelled,done,done')
})

test('config.session_max_budget gives each session its own budget', async () => {
  const session = await start({ agent_id: (await create({ config: { session_max_budget: 1.5 } })).id })
  const budget = await done<Budget>(`GET /api/budgets/session/${session.id}`)
  assert.deepEqual([budget.max_budget, budget.spend, budget.budget_duration], [1.5, 0, null])
})

test('an agent goes out as a file and comes in as a new agent, skills included, secrets not', async () => {
  const agent = await create({
    system: 'Base.',
    description: 'D',
    tools: [{ type: 'bash' }],
    config: { webhook: { secret_key: 'HOOK' }, upstreams: [{ url: 'https://x', api_key: 'very-secret' }] },
  })
  const skillPath = `/api/v1/managed_agents/agents/${agent.id}/skill`
  await done(`POST ${skillPath}`, { content: 'Skill.', save_to_library: false })
  const file = await done<AgentFile>(`GET /api/agents/${agent.id}/export`)
  assert.doesNotMatch(JSON.stringify(file), /very-secret/)
  assert.deepEqual(file.omitted, ['config.upstreams[0].api_key'])

  const made = await done<Agent>('POST /api/agents/import', file)
  assert.notEqual(made.id, agent.id)
  assert.deepEqual([made.version, made.status, made.owner_id], [1, 'active', 'team'])
  assert.deepEqual(await done(`GET /api/agents/${made.id}/export`), { ...file, omitted: [] })
  const bare = await done<{ agent: Agent }>(`DELETE /api/v1/managed_agents/agents/${made.id}/skill`)
  assert.equal(bare.agent.system, 'Base.')

  const renamed = await done<Agent>('POST /api/agents/import?owner_id=other&name=Copy', file)
  assert.deepEqual([renamed.name, renamed.owner_id], ['Copy', 'other'])
  const ana = { ...service, ...(await holderOf(service, { owner_id: 'ana' })) }
  assert.equal((await done<Agent>('POST /api/agents/import', file, ana)).owner_id, 'ana')
  assert.equal((await send(ana, 'POST /api/agents/import?owner_id=team', { body: file })).status, 403)
  for (const [body, field] of [
    [{ ...file, format_version: 2 }, 'format_version'],
    [{ ...file, format: 'other' }, 'format'],
    [{ ...file, agent: { ...file.agent, name: '' } }, 'agent.name'],
    [{ ...file, agent: { ...file.agent, config: { runtime: 'nothing' } } }, 'config.runtime'],
    [{ ...file, skills: [{ id: '<!--', name: 'x', block: '' }] }, String.raw`skills\[0\].id`],
  ] as const) {
    const { status, text } = await send(service, 'POST /api/agents/import', { body })
    assert.equal(status, 400, text)
    assert.match(text, new RegExp(`"${field} `))
  }
})
