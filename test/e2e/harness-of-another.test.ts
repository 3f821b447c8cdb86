import assert from 'node:assert/strict'
import { test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { endsRun, type SessionEvent } from '../../src/contract/events.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { followEvents } from '../support/sessions/event-tail.ts'
import { bash, saying, startScriptedService } from '../support/upstream/scripted-service.ts'

// Sessions of the outer service run on the inner one, which it knows as a harness that speaks Managed Agents.
const { service: inner, upstream } = await startScriptedService()
const config = JSON.stringify({ outbound: { allow: [new URL(inner.url).host] } })
const outer = await startService({ config, key: 'sk-outer-master-key-0123456789' })

const harness = { alias: 'inner', api_spec: 'claude_managed_agents', api_base: inner.url, api_key: inner.key }
const registered = await send(outer, 'POST /api/runtime-harnesses', { body: harness })
assert.equal(registered.status, 200, registered.text)

const { beta } = new Anthropic({ baseURL: outer.url, apiKey: outer.key, maxRetries: 0 })
const toolset = { type: 'agent_toolset_20260401' as const }
const message = (text: string) => ({ type: 'user.message' as const, content: [{ type: 'text' as const, text }] })

async function newSession(tool: object = {}): Promise<string> {
  const agent = await beta.agents.create({
    name: 'Outer',
    model: 'scripted',
    system: 'Be brief.',
    tools: [{ ...toolset, ...tool }],
    metadata: { switchyard_runtime: 'inner' },
  })
  const { id } = await beta.environments.create({ name: 'Outer' })
  return (await beta.sessions.create({ agent: agent.id, environment_id: id, title: 'Across' })).id
}
const tell = (session: string, text: string) => beta.sessions.events.send(session, { events: [message(text)] })
const innerSessions = async () =>
  (await send(inner, 'GET /v1/sessions')).json<{ data: { id: string; agent: { system: string } }[] }>().data
const logOf = async (session: string) =>
  (await beta.sessions.events.list(session, { limit: 1000 })).data as unknown as SessionEvent[]

async function untilEnd(session: string, after: number): Promise<SessionEvent> {
  const tail = await followEvents(outer, session, { query: `after=${after}` })
  const last = await tail.event(endsRun)
  tail.close()
  return last
}

test('a Switchyard tests another as a harness', async () => {
  const { ok, error } = (await send(outer, 'POST /api/runtime-harnesses/inner/test')).json<{
    ok: boolean
    error?: string
  }>()
  assert.ok(ok, error)
})

test('an SDK drives a session that runs on another Switchyard, turn after turn, and deletes it there too', async () => {
  const session = await newSession()
  await tell(session, saying(bash('echo $((4700 + 11))'), { text: 'Done.' }))
  const first = await untilEnd(session, 0)
  assert.deepEqual([first.type, first.stop_reason], ['session.status_idle', { type: 'end_turn' }])
  const log = JSON.stringify(await logOf(session))
  assert.match(log, /4711/)
  assert.match(log, /Done\./)
  const [there] = await innerSessions()
  assert.equal(there?.agent.system, 'Be brief.')

  await tell(session, saying({ text: 'Twice.' }))
  assert.equal((await untilEnd(session, first.seq)).type, 'session.status_idle')
  assert.match(JSON.stringify(await logOf(session)), /Twice\./)
  assert.equal((await innerSessions()).length, 1, 'both turns are one session there')

  await beta.sessions.delete(session)
  await eventually(async () => (await innerSessions()).length === 0, { what: 'the end of the session there' })
})

test('an interrupt reaches the other Switchyard', async () => {
  const session = await newSession()
  await tell(session, saying({ text: 'never', pauseAtFrame: 2 }))
  await eventually(async () => upstream.requests.some(({ body }) => JSON.stringify(body).includes('never')), {
    what: 'the model call of the inner service',
  })
  await beta.sessions.events.send(session, { events: [{ type: 'user.interrupt' }] })
  assert.equal((await untilEnd(session, 0)).type, 'session.status_idle')
  const [there] = await innerSessions()
  const isIdle = async () =>
    (await send(inner, `GET /v1/sessions/${there?.id}`)).json<{ status: string }>().status === 'idle'
  await eventually(isIdle, { what: 'the idle of the session there' })
  upstream.release()
})

test('a tool call that asks there asks here, and runs there once it is allowed here', async () => {
  const session = await newSession({ default_config: { permission_policy: { type: 'always_ask' } } })
  await tell(session, saying(bash('echo $((4700 + 12))'), { text: 'Allowed.' }))
  const isAsking = async () => (await beta.sessions.events.list(session)).data.some(event => 'stop_reason' in event)
  await eventually(isAsking, { what: 'the question' })
  const asked = (await beta.sessions.events.list(session)).data.find(({ type }) => type === 'session.status_idle')
  assert.ok(asked?.type === 'session.status_idle' && asked.stop_reason.type === 'requires_action')
  const [tool_use_id = ''] = asked.stop_reason.event_ids
  await beta.sessions.events.send(session, {
    events: [{ type: 'user.tool_confirmation', tool_use_id, result: 'allow' }],
  })
  await untilEnd(session, 0)
  assert.match(JSON.stringify(await logOf(session)), /4712/)
})
