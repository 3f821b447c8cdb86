import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { doing, fakeProgram } from '../support/acp/acp-rig.ts'
import { eventually } from '../support/service/eventually.ts'
import { lack } from '../support/service/lack.ts'
import { isRunning } from '../support/service/processes.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { configFor } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const upstream = await startScriptedUpstream()
after(() => upstream.stop())
const harness = { alias: 'fake', api_spec: 'acp', command: ['node', fakeProgram] }
const locked = {
  ...harness,
  alias: 'locked',
  env: {
    FAKE: JSON.stringify({ authMethods: [{ id: 'browser', name: 'Browser' }], failsToOpen: [-32_000, 'no login'] }),
  },
}
const service = await startService({
  config: JSON.stringify({ ...JSON.parse(configFor(upstream)), runtime_harnesses: [harness, locked] }),
})
const skip = lack('bubblewrap')

async function ok<T>(line: string, body?: unknown): Promise<T> {
  const answer = await send(service, line, body === undefined ? {} : { body })
  assert.ok(answer.status < 300, `${line}: ${answer.status} ${answer.text}`)
  return answer.text === '' ? (undefined as T) : answer.json<T>()
}

const logOf = async (id: string) =>
  (await ok<{ data: SessionEvent[] }>(`GET /v1/sessions/${id}/events?limit=1000`)).data
const parts = (...steps: object[]) => [{ type: 'text', text: doing(...steps) }]

/** Output of the program in a turn of these steps. */
async function said(...steps: object[]): Promise<string> {
  const { id } = await ok<Session>('POST /session', { runtime: 'fake' })
  await ok(`POST /session/${id}/message`, { model: { modelID: 'scripted' }, parts: parts(...steps) })
  const log = await logOf(id)
  assert.equal(log.at(-1)?.type, 'session.status_idle', JSON.stringify(log))
  return log
    .filter(({ type }) => type === 'agent.message')
    .flatMap(({ content }) => content as { text: string }[])
    .map(({ text }) => text)
    .join('')
}

test('the key of a run opens model routes and nothing else', { skip }, async () => {
  const open = ['/v1/models', '/v1/models/scripted', '/v1beta/models']
  const closed = [
    '/v1/agents',
    '/v1/sessions/x/events',
    '/api/approvals',
    '/api/custom-tool-calls',
    '/api/keys',
    '/health',
    '/docs',
    '/session',
    '/mcp',
  ]
  const steps = [...open, ...closed].map(path => ({ get: [path] }))
  assert.equal(
    await said({ model: 'hi' }, ...steps),
    `(200)${'(200)'.repeat(open.length)}${'(403)'.repeat(closed.length)}`,
  )
})

test('no other key comes in by the socket of a program, not even the master key', { skip }, async () => {
  assert.equal(await said({ get: ['/v1/models', service.key] }, { get: ['/v1/models', ''] }), '(401)(401)')
})

test('the key of a run does not open the port of the server', { skip }, async () => {
  const key = await said({ tell: 'ANTHROPIC_AUTH_TOKEN' })
  assert.match(key, /^sk-run-/)
  assert.equal((await send({ ...service, key }, 'GET /v1/models')).status, 401)
})

test('neither a key of the service nor a variable of its process is in the environment of a program', {
  skip,
}, async () => {
  const names = ['GATEWAY_MASTER_KEY', 'DATABASE_URL', 'SWITCHYARD_ENCRYPTION_KEY', 'SWITCHYARD_CONFIG']
  assert.equal(await said(...names.map(tell => ({ tell }))), 'not set'.repeat(names.length))
})

test('E5: the test of a harness and the first prompt report a program that asks for a login', { skip }, async () => {
  const wanted =
    'program locked requires authentication (Browser); log in with it, or set its variables in env of the configuration file'
  for (const path of ['runtime-harnesses', 'agent-runtimes']) {
    const { ok: isOk, error } = await ok<{ ok: boolean; error: string }>(`POST /api/${path}/locked/test`)
    assert.deepEqual([isOk, error], [false, wanted])
  }
  assert.equal((await ok<{ ok: boolean }>('POST /api/runtime-harnesses/fake/test')).ok, true)
  const { id } = await ok<Session>('POST /session', { runtime: 'locked' })
  await send(service, `POST /session/${id}/message`, {
    body: { model: { modelID: 'scripted' }, parts: parts({ say: 'hi' }) },
  })
  const failure = (await logOf(id)).find(({ type }) => type === 'session.error')
  assert.equal((failure?.['error'] as { message: string } | undefined)?.message, wanted)
})

test('deleting a session ends its program, and stopping the service ends all', { skip }, async () => {
  const [first, second] = ['sleep 91827', 'sleep 91828'] as const
  const { id } = await ok<Session>('POST /session', { runtime: 'fake' })
  const prompt = { model: { modelID: 'scripted' }, parts: parts({ child: first }, { hang: true }) }
  await ok(`POST /session/${id}/prompt_async`, prompt)
  await eventually(() => isRunning(first))
  assert.equal((await send(service, `DELETE /session/${id}`)).status, 200)
  await eventually(() => !isRunning(first))
  await said({ child: second }, { say: 'kept' })
  await eventually(() => isRunning(second))
  assert.equal(await service.stop(), 0)
  await eventually(() => !isRunning(second))
})
