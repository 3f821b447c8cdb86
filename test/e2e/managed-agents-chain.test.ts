import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionEvent } from '../../src/contract/events.ts'
import { assertSound, story } from '../support/managed-agents/managed-agents-stage.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { bash, saying, startScriptedService } from '../support/upstream/scripted-service.ts'

const { service: there } = await startScriptedService({ models: ['scripted'] })
const { host } = new URL(there.url)
const here = await startService({ config: JSON.stringify({ outbound: { allow: [host] } }) })
const credential = { api_key: there.key, api_base: there.url }
await send(here, 'PUT /api/agent-runtimes/claude_managed_agents/credentials', { body: credential })

const agentWith = async (tools: unknown): Promise<string> => {
  const body = {
    name: 'A',
    owner_id: 'ada',
    model: 'scripted',
    system: 'Be brief.',
    runtime: 'claude_managed_agents',
    tools,
  }
  return (await send(here, 'POST /api/agents', { body })).json<{ id: string }>().id
}

const begin = async (tools: unknown, prompt: string): Promise<string> =>
  (await send(here, 'POST /session', { body: { agent_id: await agentWith(tools), prompt } })).json<{ id: string }>().id

const logOf = async (service: typeof here, id: string): Promise<SessionEvent[]> =>
  (await send(service, `GET /v1/sessions/${id}/events?limit=1000`)).json<{ data: SessionEvent[] }>().data

/** The log, once it contains that. */
const logWith = (id: string, told: string): Promise<SessionEvent[]> =>
  eventually(
    async () => {
      const log = await logOf(here, id)
      return story(log).at(-1) === told && log
    },
    { what: `${told} in the log` },
  )

const sessionThere = async (id: string): Promise<string> =>
  (await send(here, `GET /session/${id}`)).json<{ provider_session_id: string }>().provider_session_id

test('another service of this kind is a harness: it runs prompts, tools and all, and is told to forget', async () => {
  const id = await begin({}, saying(bash('echo one'), { text: 'Done.' }))
  const log = await logWith(id, 'idle end_turn')
  assert.deepEqual(
    story(log).filter(told => !told.startsWith('session.')),
    ['running', 'uses bash', 'result one', 'says Done.', 'idle end_turn'],
  )
  assertSound(log)

  await send(here, `POST /session/${id}/prompt_async`, {
    body: {
      model: { providerID: 'x', modelID: 'scripted' },
      parts: [{ type: 'text', text: saying({ text: 'Again.' }) }],
    },
  })
  await eventually(async () => story(await logOf(here, id)).includes('says Again.'))
  const whole = await logWith(id, 'idle end_turn')
  assert.equal(story(whole).filter(told => told === 'says Done.').length, 1)
  assertSound(whole)

  const over = await sessionThere(id)
  assert.equal(story(await logOf(there, over)).filter(told => told.startsWith('says')).length, 2)
  await send(here, `DELETE /session/${id}`)
  await eventually(async () => (await send(there, `GET /session/${over}`)).status === 404)
})

test('a tool call that asks over there is allowed here', async () => {
  const ask = [{ type: 'agent_toolset_20260401', default_config: { permission_policy: { type: 'always_ask' } } }]
  const id = await begin(ask, saying(bash('echo yes'), { text: 'Done.' }))
  const log = await logWith(id, 'idle requires_action')
  const question = log.find(({ type }) => type === 'agent.tool_use')
  const events = [{ type: 'user.tool_confirmation', tool_use_id: question?.id, result: 'allow' }]
  assert.equal((await send(here, `POST /v1/sessions/${id}/events`, { body: { events } })).status, 200)
  const told = story(await logWith(id, 'idle end_turn'))
  assert.deepEqual(
    told.filter(line => !line.startsWith('session.') && !line.startsWith('user.')),
    ['running', 'uses bash', 'idle requires_action', 'running', 'result yes', 'says Done.', 'idle end_turn'],
  )
})

test('an interrupt here stops the run over there', async () => {
  const id = await begin({}, saying(bash('sleep 60'), { text: 'Never.' }))
  await eventually(async () => story(await logOf(here, id)).includes('uses bash'))
  await send(here, `POST /session/${id}/interrupt`)
  const log = await logWith(id, 'idle end_turn')
  assertSound(log)
  const over = await sessionThere(id)
  await eventually(async () => story(await logOf(there, over)).at(-1) === 'idle end_turn')
  assert.equal(story(await logOf(there, over)).includes('says Never.'), false)
})
