import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import { type SessionEvent, textOfContent } from '../../src/contract/events.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { startSdkAgent } from '../support/a2a/sdk-agent.ts'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { freePort } from '../support/service/free-port.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { bash, configFor, saying } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const bindings = ['JSONRPC', 'HTTP+JSON'] as const
const upstream = await startScriptedUpstream()
const agents = { JSONRPC: await startSdkAgent('JSONRPC'), 'HTTP+JSON': await startSdkAgent('HTTP+JSON') }
const port = await freePort()
const base = JSON.parse(configFor(upstream))
const allow = [...base.outbound.allow, `127.0.0.1:${port}`, ...Object.values(agents).map(({ host }) => host)]
const config = JSON.stringify({
  ...base,
  outbound: { allow },
  general_settings: { public_url: `http://127.0.0.1:${port}` },
  runtime_harnesses: bindings.map(binding => ({
    alias: binding.replace('+', '_'),
    api_spec: 'a2a',
    api_base: agents[binding].url,
  })),
})
const { url: databaseUrl } = await freshDatabase()
const options = { databaseUrl, config, port }
let service = await startService(options)
after(async () => {
  await service.stop()
  await upstream.stop()
  for (const agent of Object.values(agents)) await agent.stop()
})

async function ok<T>(line: string, body?: unknown): Promise<T> {
  const answer = await send(service, line, body === undefined ? {} : { body })
  assert.ok(answer.status < 300, `${line}: ${answer.status} ${answer.text}`)
  return answer.text === '' ? (undefined as T) : answer.json<T>()
}

const newSession = async (runtime: string): Promise<string> => (await ok<Session>('POST /session', { runtime })).id
const logOf = async (id: string) =>
  (await ok<{ data: SessionEvent[] }>(`GET /v1/sessions/${id}/events?limit=1000`)).data
const prompt = (id: string, text: string, files: readonly object[] = []) =>
  ok(`POST /session/${id}/prompt_async`, { model: { modelID: 'default' }, parts: [{ type: 'text', text }, ...files] })

/** Sends a prompt, and returns the events of its run. */
async function run(id: string, text: string, files: readonly object[] = []): Promise<SessionEvent[]> {
  const before = (await logOf(id)).length
  await prompt(id, text, files)
  const ended = (log: readonly SessionEvent[]) =>
    log.slice(before).some(({ type }) => type === 'session.status_idle' || type === 'session.error')
  await eventually(async () => ended(await logOf(id)))
  return (await logOf(id)).slice(before)
}

const textsIn = (log: readonly SessionEvent[]) =>
  log.flatMap(({ type, content }) => (type === 'agent.message' ? [textOfContent(content)] : []))
const errorIn = (log: readonly SessionEvent[]) => log.find(({ type }) => type === 'session.error')?.error?.message ?? ''

for (const binding of bindings) {
  const alias = binding.replace('+', '_')
  test(`${binding}: an agent on the official server answers, asks, and can be stopped`, async () => {
    const { ok: isWell } = await ok<{ ok: boolean }>(`POST /api/runtime-harnesses/${alias}/test`)
    assert.equal(isWell, true)
    const id = await newSession(alias)
    assert.deepEqual(textsIn(await run(id, 'Hello')), ['You said Hello'])
    assert.deepEqual(textsIn(await run(id, 'Ask')), ['Which day?'])
    assert.deepEqual(textsIn(await run(id, 'Monday')), ['You said Monday'])
    assert.deepEqual(textsIn(await run(id, 'Ping')), ['Pong.'])
    const file = { type: 'file', data: btoa('low tide'), media_type: 'text/plain', name: 'tide.txt' }
    assert.deepEqual(textsIn(await run(id, 'Read', [file])), ['You said Read\nlow tide'])
    const { received } = agents[binding]
    assert.equal(received[1]?.taskId, received[2]?.taskId)
    await prompt(id, 'Wait')
    await eventually(() => agents[binding].waiting === 1)
    await ok(`POST /session/${id}/abort`)
    await eventually(async () => (await logOf(id)).at(-1)?.stop_details?.type === 'interrupted')
    assert.deepEqual(textsIn(await run(id, 'Bye')), ['You said Bye'])
  })
}

test('a run continues at the agent while the service is killed, and the prompt is not sent again', async () => {
  const id = await newSession('JSONRPC')
  const before = agents.JSONRPC.received.length
  await prompt(id, 'Wait')
  await eventually(() => agents.JSONRPC.waiting === 2)
  await service.kill()
  service = await startService(options)
  await ok(`POST /session/${id}/abort`)
  await eventually(async () => (await logOf(id)).some(({ type }) => type === 'session.status_idle'), {})
  assert.equal(agents.JSONRPC.received.length, before + 1)
  assert.deepEqual(textsIn(await run(id, 'Again')), ['You said Again'])
})

async function servedAgent(fields: object = {}): Promise<string> {
  const body = { name: 'Scribe', owner_id: 'ada', model: 'scripted', config: { a2a: { enabled: true } }, ...fields }
  return (await ok<Agent>('POST /api/agents', body)).id
}

const register = (alias: string, agent: string) =>
  ok('POST /api/runtime-harnesses', {
    alias,
    api_spec: 'a2a',
    api_base: `${service.url}/a2a/${agent}`,
    api_key: service.key,
  })

test('an agent of this service is the remote agent of another one, approvals included', async () => {
  const inner = await servedAgent({
    tools: [{ type: 'agent_toolset_20260401', default_config: { permission_policy: { type: 'always_ask' } } }],
  })
  await register('inner', inner)
  const outer = await ok<Agent>('POST /api/agents', {
    name: 'Outer',
    owner_id: 'ada',
    model: 'scripted',
    runtime: 'inner',
  })
  const { id } = await ok<Session>('POST /session', { agent: outer.id })
  assert.deepEqual(textsIn(await run(id, 'The word is tide.')).length, 1)
  const asked = await run(id, saying({ text: 'May I?', ...bash('echo hello') }, { text: 'All done.' }))
  assert.match(textsIn(asked).join('\n'), /May I\?\nApproval required: bash/)
  const { provider_session_id } = await ok<Session>(`GET /session/${id}`)
  assert.equal((await ok<Session>(`GET /session/${provider_session_id}`)).agent_id, inner)
  assert.deepEqual(textsIn(await run(id, 'approve')), ['All done.'])
})

test('agents that call each other in a loop end with an error', async () => {
  const agent = await servedAgent()
  await register('loop', agent)
  await ok(`PATCH /api/agents/${agent}`, {
    name: 'Scribe',
    owner_id: 'ada',
    model: 'scripted',
    runtime: 'loop',
    config: { a2a: { enabled: true } },
  })
  const { id } = await ok<Session>('POST /session', { agent })
  assert.match(errorIn(await run(id, 'Hello')), /agents that call each other form a loop/)
  const { data } = await ok<{ data: unknown[] }>(`GET /v1/sessions?agent_id=${agent}&limit=100`)
  assert.equal(data.length, 6)
})
