import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { Approval } from '../../src/contract/approvals.ts'
import type { Budget } from '../../src/contract/budgets.ts'
import { type SessionEvent, textOfBlock } from '../../src/contract/events.ts'
import type { Prompt } from '../../src/contract/prompts.ts'
import type { OpencodeSession, Session } from '../../src/contract/sessions.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { followEvents } from '../support/sessions/event-tail.ts'
import { endsTurn, startScriptedRig, waitsForAction } from '../support/sessions/scripted-rig.ts'
import type { Answer } from '../support/upstream/scripted-answer.ts'
import { bash, saying } from '../support/upstream/scripted-service.ts'

/** One US dollar for a million tokens. An answer costs 0.02 USD, and may cost a little more. */
const perToken = 0.000001
const maxTokens = 16_000
const costly = { usage: { input_tokens: 4_000, output_tokens: maxTokens } }
const rig = await startScriptedRig({ params: { input_cost_per_token: perToken, output_cost_per_token: perToken } })
const { upstream, database, ok } = rig

const newAgent = async (name: string, fields: object = {}) =>
  (
    await ok<Agent>('POST /api/agents', {
      ...{ name, owner_id: 'team', model: 'scripted', tools: [{ type: 'bash' }] },
      ...fields,
    })
  ).id
const researcher = await newAgent('Researcher', { description: 'Looks things up' })
const writer = await newAgent('Writer')
const planner = (config: object, fields: object = {}) => newAgent('Planner', { config, ...fields })

/** A turn that gives agents tasks, and one that sums up. */
const calling = (...calls: readonly { readonly name: string; readonly prompt: unknown; readonly more?: Answer }[]) =>
  saying(
    { ...costly, text: 'I delegate.', tool_calls: calls.map(({ name, prompt }) => ({ name, input: { prompt } })) },
    { ...costly, text: 'All done.' },
  )
const start = (agent_id: string, prompt: string) => ok<Session>('POST /session', { agent_id, prompt })
const childrenOf = async (id: string) => (await ok<OpencodeSession[]>(`GET /session/${id}/children`)).toReversed()
const statusOf = async (id: string) => (await ok<Session>(`GET /session/${id}`)).status
const promptsOf = async (id: string) => (await ok<{ data: Prompt[] }>(`GET /session/${id}/prompts`)).data
const budgetOf = (id: string) => ok<Budget>(`GET /api/budgets/session/${id}`)
const logOf = async (id: string) =>
  (await ok<{ data: SessionEvent[] }>(`GET /v1/sessions/${id}/events?limit=1000`)).data
const ended = async (id: string) => {
  const tail = await followEvents(rig.service, id)
  await tail.event(endsTurn)
  tail.close()
  return tail.events
}
const textOf = ({ content }: Pick<SessionEvent, 'content'>) => (content ?? []).map(textOfBlock).join('')
const resultsIn = (log: readonly SessionEvent[]) =>
  log.filter(({ type }) => type === 'agent.tool_result').map(event => [event.is_error, textOf(event)])
/** The first session that was called from this one, once it runs. */
const child = (id: string) =>
  eventually(
    async () => {
      const [found] = await childrenOf(id)
      return found?.status === 'running' && found.id
    },
    { what: 'the called session' },
  )

test('a planner and two workers survive kill -9; their cost counts for the budget of the planner', async () => {
  const id = (
    await start(
      await planner({ session_max_budget: 1, agents: [researcher, { agent_id: writer, budget_share: 0.5 }] }),
      calling(
        {
          name: 'agent__researcher',
          prompt: saying({ ...bash('echo looked-up'), ...costly }, { text: 'facts-found', delayMs: 1_500, ...costly }),
        },
        { name: 'agent__writer', prompt: saying({ text: 'text-written', delayMs: 1_500, ...costly }) },
      ),
    )
  ).id
  const [one, two] = await eventually(
    async () => {
      const found = await childrenOf(id)
      return found.length === 2 && found
    },
    { what: 'the sessions of the workers' },
  )
  assert.deepEqual([one?.agent_id, one?.parent_session_id, one?.parentID, two?.agent_id], [researcher, id, id, writer])
  const parked = async () => {
    const { rows } = await database.query('select lease_owner from sessions where id = $1', [id])
    return rows[0]?.lease_owner === null
  }
  await eventually(parked, { what: 'the planner to have no owner while it waits' })
  assert.equal(await statusOf(id), 'running')
  assert.deepEqual(
    (await promptsOf(id)).map(({ held_by }) => held_by),
    ['subagent'],
  )
  await rig.crash()
  const log = await ended(id)
  assert.deepEqual(resultsIn(log), [
    [false, 'facts-found'],
    [false, 'text-written'],
  ])
  assert.match(JSON.stringify(upstream.requests.at(-1)?.body), /facts-found.*text-written/)
  assert.match(JSON.stringify(upstream.requests[0]?.body), /"agent__researcher","description":"[^}]*Looks things up/)

  const types = log.map(({ type }) => type).filter(type => /thread|tool/.test(type))
  const created = ['session.thread_created', 'agent.thread_message_sent', 'session.thread_status_running']
  const received = ['agent.thread_message_received', 'session.thread_status_idle']
  const calls = ['agent.tool_use', 'agent.tool_use']
  assert.deepEqual(types, [
    ...calls,
    ...created,
    ...created,
    ...received,
    ...received,
    'agent.tool_result',
    'agent.tool_result',
  ])
  const [thread] = log.filter(({ type }) => type === 'session.thread_created')
  assert.deepEqual(
    [thread?.agent_name, thread?.session_id, thread?.session_thread_id],
    ['Researcher', one?.id, one?.id],
  )
  assert.equal((await childrenOf(id)).length, 2)
  for (const worker of [one, two]) {
    const events = await logOf(worker?.id ?? '')
    assert.equal(events.filter(({ type }) => type === 'user.message').length, 1)
    assert.equal(events.filter(endsTurn).length, 1)
  }

  const spent = async () => {
    const { rows } = await database.query(
      `select sum(cost_usd)::float8 as usd from usage where session_id = $1 or session_id in (select id from sessions where ancestors[1] = $1)`,
      [id],
    )
    const { spend, reserved } = await budgetOf(id)
    assert.ok(spend + reserved <= 1, `${spend} USD spent and ${reserved} reserved`)
    return Math.abs(Number(rows[0]?.usd) - spend) < 1e-9 && spend
  }
  const total = await eventually(spent, { what: 'all calls in the budget' })
  assert.ok(total >= 0.06, `${total} USD`)
  assert.equal((await budgetOf(two?.id ?? '')).max_budget, 0.5)
})

test('a call that asks runs once, with the arguments that a person allowed after a kill -9; a denied one never starts', async () => {
  const asking = (id: string) => ({ agents: [{ agent_id: id, permission_policy: 'always_ask' }] })
  const agent_id = await planner(asking(researcher))
  const { id } = await start(agent_id, calling({ name: 'agent__researcher', prompt: 'as-asked' }))
  const tail = await followEvents(rig.service, id)
  await tail.event(waitsForAction)
  tail.close()
  await rig.crash()
  assert.deepEqual(await childrenOf(id), [])
  assert.equal(await statusOf(id), 'idle')
  const path = `GET /api/approvals?session_id=${id}&state=pending`
  const [question] = (await ok<{ approvals: Approval[] }>(path)).approvals
  const edited = { prompt: `as-allowed ${saying({ text: 'allowed-answer', delayMs: 1_000 })}` }
  const wrong = await send(rig.service, `POST /api/approvals/${question?.id}`, {
    body: { result: 'allow', input: { task: 'x' } },
  })
  assert.equal(wrong.status, 400, wrong.text)
  await ok(`POST /api/approvals/${question?.id}`, { result: 'allow', input: edited })
  await child(id)
  await rig.crash()
  const log = await ended(id)
  const [result, ...others] = resultsIn(log)
  assert.deepEqual([result?.[0], others], [false, []])
  assert.match(String(result?.[1]), /A person changed the arguments.*as-allowed.*allowed-answer$/)
  const children = await childrenOf(id)
  assert.equal(children.length, 1)
  const asked = (await logOf(children[0]?.id ?? '')).filter(({ type }) => type === 'user.message')
  assert.deepEqual(asked.map(textOf), [edited.prompt])

  const denied = await start(agent_id, calling({ name: 'agent__researcher', prompt: 'never' }))
  const deniedTail = await followEvents(rig.service, denied.id)
  await deniedTail.event(waitsForAction)
  deniedTail.close()
  const open = await ok<{ approvals: Approval[] }>(path.replace(id, denied.id))
  await ok(`POST /api/approvals/${open.approvals[0]?.id}`, { result: 'deny', message: 'Not now' })
  assert.match(String(resultsIn(await ended(denied.id))[0]?.[1]), /was not run: Not now/)
  assert.deepEqual(await childrenOf(denied.id), [])
})

const slow = saying({ text: 'too-late', delayMs: 60_000 })

test('interrupting a session interrupts the agents that it called; deleting it deletes their sessions', async () => {
  const middle = await newAgent('Middle', { config: { agents: [writer] } })
  const agent_id = await planner({ agents: [middle] })
  const nested = calling({ name: 'agent__middle', prompt: calling({ name: 'agent__writer', prompt: slow }) })
  const { id } = await start(agent_id, nested)
  const below = await child(id)
  const lowest = await child(below)
  await ok(`POST /session/${id}/interrupt`)
  for (const stopped of [id, below, lowest]) {
    const events = await ended(stopped)
    assert.equal(events.findLast(endsTurn)?.stop_details?.type, 'interrupted', stopped)
  }
  assert.match(String(resultsIn(await logOf(id))[0]?.[1]), /stopped before the call was answered/)
  const another = await start(agent_id, nested)
  const others = [await child(another.id)]
  others.push(await child(others[0] ?? ''))
  await ok(`DELETE /session/${another.id}`)
  for (const gone of others) assert.equal((await send(rig.service, `GET /session/${gone}`)).status, 404)
  const { rows } = await database.query(`select from waits where kind = 'subagent'`)
  assert.deepEqual(rows, [])
})

test('a called session that is deleted, interrupted, fails or uses up its budget gives an error; the caller continues', async () => {
  const agent_id = await planner({ agents: [researcher] })
  const run = (prompt: unknown) => start(agent_id, calling({ name: 'agent__researcher', prompt }))
  const resultOf = async ({ id }: Session) => {
    const [result, ...more] = resultsIn(await ended(id))
    assert.deepEqual(more, [])
    return result
  }
  const deleted = await run(slow)
  await ok(`DELETE /session/${await child(deleted.id)}`)
  assert.match(String(await resultOf(deleted)), /^true,agent "Researcher" gave no answer: its session was deleted/)
  const interrupted = await run(slow)
  await ok(`POST /session/${await child(interrupted.id)}/interrupt`)
  assert.match(String(await resultOf(interrupted)), /^true,agent "Researcher" was interrupted/)
  const failed = await run(saying({ status: 400, error: 'the-model-refuses' }))
  assert.match(String(await resultOf(failed)), /^true,agent "Researcher" failed: .*the-model-refuses/)
  assert.match(String(await resultOf(await run(''))), /^true,agent "Researcher" was not called: prompt must be/)

  await ok(`POST /api/agents/${researcher}/pause`)
  assert.match(String(await resultOf(await run('Go'))), /^true,agent "Researcher" was not called: .* is paused/)
  await ok(`POST /api/agents/${researcher}/resume`)

  const sharing = await planner({ session_max_budget: 1, agents: [{ agent_id: writer, budget_share: 0.05 }] })
  const spending = saying(
    { ...bash('true'), ...costly },
    { ...bash('true'), ...costly },
    { ...bash('true'), ...costly },
  )
  const poor = await start(sharing, calling({ name: 'agent__writer', prompt: spending }))
  assert.match(String(await resultOf(poor)), /^true,agent "Writer" was stopped: the budget of its session \(0.05 USD\)/)
  const { spend } = await budgetOf((await childrenOf(poor.id))[0]?.id ?? '')
  assert.ok(spend <= 0.05, `${spend} USD`)
})

test('calls beyond the limit of an agent wait for their turn, and all are answered', async () => {
  const agent_id = await planner({ agents: [{ agent_id: researcher, max_parallel: 1 }] })
  const words = ['first', 'second', 'third']
  const { id } = await start(
    agent_id,
    calling(...words.map(text => ({ name: 'agent__researcher', prompt: saying({ text, delayMs: 300 }) }))),
  )
  const log = await ended(id)
  assert.deepEqual(
    resultsIn(log),
    words.map(text => [false, text]),
  )
  const states = log.map(({ type }) => type).filter(type => type.startsWith('session.thread_status'))
  assert.deepEqual(
    states,
    words.flatMap(() => ['session.thread_status_running', 'session.thread_status_idle']),
  )
})

test('config.agents is checked when it is written, with the name of the field', async () => {
  const body = { name: 'Checked', owner_id: 'team', model: 'scripted' }
  const foreign = (await ok<Agent>('POST /api/agents', { ...body, owner_id: 'others' })).id
  const write = (agents: unknown, more: object = {}) =>
    send(rig.service, 'POST /api/agents', { body: { ...body, ...more, config: { agents } } })
  for (const [agents, message] of [
    ['x', /config\.agents must be a list/],
    [['agent_nothing'], /config\.agents\[0\]\.agent_id agent_nothing is not an agent of owner team/],
    [[foreign], /config\.agents\[0\]\.agent_id .* is not an agent of owner team/],
    [[writer, writer], /config\.agents\[1\]\.agent_id .* is already in the list/],
    [[{ agent_id: writer, budget_share: 2 }], /config\.agents\[0\]\.budget_share must be a number above 0, at most 1/],
    [[{ agent_id: writer, max_parallel: 5 }], /config\.agents\[0\]\.max_parallel must be a whole number from 1 to 4/],
    [[{ agent_id: writer, permission_policy: 'maybe' }], /config\.agents\[0\]\.permission_policy must be one of/],
    [[{ agent_id: writer, share: 1 }], /config\.agents\[0\]\.share is unknown/],
  ] as const) {
    const answer = await write(agents)
    assert.equal(answer.status, 400, answer.text)
    assert.match(answer.text, message)
  }
  const elsewhere = await write([writer], { runtime: 'cursor' })
  assert.match(elsewhere.text, /config\.agents is not supported: only agents of the built-in runtime call agents/)
  const shared = await write([{ agent_id: writer, budget_share: 0.5 }])
  assert.equal(shared.headers['x-switchyard-ignored'], 'config.agents[0].budget_share')

  const one = await newAgent('One', { config: { agents: [writer] } })
  const two = await newAgent('Two', { config: { agents: [one] } })
  const patch = (agents: unknown) =>
    send(rig.service, `PATCH /api/agents/${one}`, { body: { ...body, config: { agents } } })
  assert.match((await patch([one])).text, /an agent cannot call itself/)
  assert.match((await patch([two])).text, /calls this agent, directly or through others/)
})
