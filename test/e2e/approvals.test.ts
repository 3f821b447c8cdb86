import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { Approval } from '../../src/contract/approvals.ts'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { type EventTail, followEvents } from '../support/sessions/event-tail.ts'
import { endsTurn, startScriptedRig, waitsForAction } from '../support/sessions/scripted-rig.ts'
import { saying } from '../support/upstream/scripted-service.ts'

const rig = await startScriptedRig()
const { database, ok } = rig

const asking = [{ type: 'agent_toolset_20260401', default_config: { permission_policy: { type: 'always_ask' } } }]
const { id: agentId } = await ok<Agent>('POST /api/agents', {
  name: 'Careful',
  owner_id: 'team',
  model: 'scripted',
  tools: asking,
})

interface Asking {
  readonly id: string
  readonly tail: EventTail
  /** The open questions, in the order of the log. */
  readonly questions: readonly Approval[]
}

/** A session that runs these commands, each asking first, up to its question. */
async function askingSession(...commands: readonly string[]): Promise<Asking> {
  const calls = commands.map(command => ({ name: 'bash', input: { command } }))
  const prompt = saying({ text: 'May I?', tool_calls: calls }, { text: 'All done.' })
  const { id } = await ok<Session>('POST /session', { agent_id: agentId, prompt })
  const tail = await followEvents(rig.service, id)
  await tail.event(waitsForAction)
  const { approvals } = await ok<{ approvals: Approval[] }>(`GET /api/approvals?session_id=${id}&state=pending`)
  return { id, tail, questions: approvals.toReversed() }
}

const resultsOf = ({ tail }: Asking) =>
  tail.events
    .filter(({ type }) => type === 'agent.tool_result')
    .map(event => [event.is_error, (event.content as { text: string }[])[0]?.text ?? ''] as const)
const statusOf = async ({ id }: Asking) => (await ok<Session>(`GET /session/${id}`)).status
const confirm = ({ id }: Asking, tool_use_id: string, result: 'allow' | 'deny', deny_message?: string) =>
  send(rig.service, `POST /v1/sessions/${id}/events`, {
    body: { events: [{ type: 'user.tool_confirmation', tool_use_id, result, deny_message }] },
  })

test('a tool call that asks waits for a person; the session idles with requires_action, and continues when it is allowed', async () => {
  const session = await askingSession('echo allowed-run')
  const { tail, questions } = session
  assert.equal(await statusOf(session), 'idle')
  const use = tail.events.find(({ type }) => type === 'agent.tool_use')
  const [question] = questions
  assert.equal(use?.evaluated_permission, 'ask')
  assert.deepEqual([question?.id, question?.tool_use_id], [use?.id, use?.tool_use_id])
  assert.deepEqual([question?.name, question?.input], ['bash', { command: 'echo allowed-run' }])
  assert.deepEqual(resultsOf(session), [])

  const answer = await confirm(session, use?.id ?? '', 'allow')
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(
    answer.json<{ data: SessionEvent[] }>().data.map(({ type }) => type),
    ['user.tool_confirmation'],
  )
  await tail.event(endsTurn)
  assert.deepEqual(resultsOf(session), [[false, 'allowed-run']])
  const types = tail.events.map(({ type }) => type)
  assert.deepEqual(types.slice(types.indexOf('session.status_idle')), [
    'session.status_idle',
    'user.tool_confirmation',
    'session.status_running',
    'agent.tool_result',
    'span.model_request_start',
    'agent.message',
    'span.model_request_end',
    'session.usage',
    'session.status_idle',
  ])
  tail.close()
})

test('what is denied is not run, and the model reads why; of several questions each is answered by itself', async () => {
  const session = await askingSession('echo one-run', 'echo two-run')
  const [one, two] = session.questions
  await ok(`POST /api/approvals/${two?.id}`, { result: 'deny', message: 'Not on a Friday.' })
  assert.equal(await statusOf(session), 'idle', 'the other one is still open')
  await ok(`POST /api/approvals/${one?.id}`, { result: 'allow', digest: one?.digest })
  await session.tail.event(endsTurn)
  const results = resultsOf(session)
  assert.equal(results.length, 2)
  assert.ok(results.some(([isError, text]) => isError && /not run.*Not on a Friday/.test(text)))
  assert.ok(results.some(([isError, text]) => !isError && text === 'one-run'))
  session.tail.close()
})

test('S37: an answer counts once, for the arguments that were seen, and only while the question is open', async () => {
  const session = await askingSession('echo once-run')
  const id = session.questions[0]?.id
  const other = await send(rig.service, `POST /api/approvals/${id}`, {
    body: { result: 'allow', digest: '0'.repeat(64) },
  })
  assert.equal(other.status, 409)
  assert.match(other.text, /digest/)
  assert.deepEqual(resultsOf(session), [])
  await ok(`POST /api/approvals/${id}`, { result: 'deny' })
  const again = await confirm(session, id ?? '', 'allow')
  assert.equal(again.status, 409)
  assert.match(again.text, /is denied/)
  await session.tail.event(endsTurn)
  assert.equal(resultsOf(session)[0]?.[0], true)
  const unknown = await confirm(session, 'evt_nothing', 'allow')
  assert.equal(unknown.status, 404)
  session.tail.close()
})

test('a session that is stopped while it asks closes the question: its call gets a result, and no answer counts', async () => {
  const session = await askingSession('echo stopped-run')
  await ok(`POST /session/${session.id}/interrupt`)
  await session.tail.event(endsTurn)
  assert.match(resultsOf(session)[0]?.[1] ?? '', /stopped before a person answered/)
  const [question] = (await ok<{ approvals: Approval[] }>(`GET /api/approvals?session_id=${session.id}`)).approvals
  assert.equal(question?.state, 'cancelled')
  assert.equal((await confirm(session, question?.id ?? '', 'allow')).status, 409)
  session.tail.close()
})

test('S37: a question without an answer in 24 h expires', async () => {
  const session = await askingSession('echo late-run')
  const id = session.questions[0]?.id
  const expire = `
    with question as (update approvals set expires_at = clock_timestamp() where id = $1 returning session_id),
         wait as (update waits set until = clock_timestamp() where subject = $1)
    update sessions set due_at = clock_timestamp() where id in (select session_id from question)`
  await database.query(expire, [id])
  await session.tail.event(endsTurn)
  assert.match(resultsOf(session)[0]?.[1] ?? '', /approval expired without an answer/)
  session.tail.close()
})

test('a question outlives kill -9 of the server: it is asked once, and an answer given meanwhile counts', async () => {
  const session = await askingSession('echo outlived-run')
  session.tail.close()
  await rig.crash()
  const id = session.questions[0]?.id
  assert.equal(await statusOf(session), 'idle')
  await ok(`POST /api/approvals/${id}`, { result: 'allow' })
  const tail = await followEvents(rig.service, session.id)
  await tail.event(endsTurn)
  assert.equal(tail.events.filter(waitsForAction).length, 1)
  assert.deepEqual(resultsOf({ ...session, tail }), [[false, 'outlived-run']])
  tail.close()
})

test('a tool that asks does not hold back reads behind it', async () => {
  const { id } = await ok<Agent>('POST /api/agents', {
    name: 'Half careful',
    owner_id: 'team',
    model: 'scripted',
    tools: [
      { type: 'agent_toolset_20260401', configs: [{ name: 'write', permission_policy: { type: 'always_ask' } }] },
    ],
  })
  const both = [
    { name: 'write', input: { file_path: 'a.txt', content: 'x' } },
    { name: 'glob', input: { pattern: 'free-run' } },
  ]
  const prompt = saying({ text: 'Both.', tool_calls: both }, { text: 'All done.' })
  const session = await ok<Session>('POST /session', { agent_id: id, prompt })
  const tail = await followEvents(rig.service, session.id)
  await tail.event(waitsForAction)
  const before = tail.events.filter(({ type }) => type === 'agent.tool_result')
  assert.equal(before.length, 1)
  assert.match(JSON.stringify(before), /No files found/)
  await ok(`DELETE /session/${session.id}`)
  await eventually(
    async () =>
      (await ok<{ approvals: Approval[] }>(`GET /api/approvals?session_id=${session.id}`)).approvals[0]?.state ===
      'cancelled',
    { what: 'the question of a deleted session to close' },
  )
  tail.close()
})

test('GET /api/approvals pages, filters by state, and rejects a state that does not exist', async () => {
  const page = await ok<{ approvals: Approval[]; next_cursor: string | null }>('GET /api/approvals?limit=2')
  assert.equal(page.approvals.length, 2)
  const next = await ok<{ approvals: Approval[] }>(`GET /api/approvals?limit=2&cursor=${page.next_cursor}`)
  assert.ok((next.approvals[0]?.id ?? '') < (page.approvals[1]?.id ?? ''))
  const denied = await ok<{ approvals: Approval[] }>('GET /api/approvals?state=denied')
  assert.ok(denied.approvals.length >= 2 && denied.approvals.every(({ state }) => state === 'denied'))
  assert.equal((await send(rig.service, 'GET /api/approvals?state=maybe')).status, 400)
})

test('the history of approvals has who decided and both versions of the arguments, by agent, in either order', async () => {
  const first = await askingSession('echo one')
  const second = await askingSession('echo two')
  const idsOf = async (query: string) =>
    (await ok<{ approvals: Approval[] }>(`GET /api/approvals?${query}`)).approvals.map(({ id }) => id)
  const both = [...first.questions, ...second.questions].map(({ id }) => id)
  const open = await idsOf(`is_open=true&agent_id=${agentId}&order=asc&limit=200`)
  assert.deepEqual(
    open.filter(id => both.includes(id)),
    both,
  )
  assert.deepEqual(await idsOf('is_open=true&agent_id=agent_none'), [])

  const [id = ''] = both
  await ok(`POST /api/approvals/${id}`, { result: 'allow', input: { command: 'echo three' } })
  const { approvals } = await ok<{ approvals: Approval[] }>(`GET /api/approvals?is_open=false&session_id=${first.id}`)
  const [decided] = approvals
  assert.deepEqual(
    [decided?.state, decided?.input, decided?.edited_input, decided?.decided_by, approvals.length],
    ['allowed', { command: 'echo one' }, { command: 'echo three' }, 'master', 1],
  )
  assert.ok(decided?.decided_at && decided.session_title.length > 0)
  assert.deepEqual(await idsOf(`is_open=false&session_id=${second.id}`), [])
  await ok(`DELETE /session/${second.id}`)
  assert.deepEqual(await idsOf(`is_open=false&session_id=${second.id}`), [both[1]])

  const page = await ok<{ approvals: Approval[]; next_cursor: string }>('GET /api/approvals?is_open=false&limit=1')
  const next = await idsOf(`is_open=false&limit=1&cursor=${page.next_cursor}`)
  assert.ok((next[0] ?? '') < (page.approvals[0]?.id ?? ''))
})
