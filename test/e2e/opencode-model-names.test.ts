import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Session } from '../../src/contract/sessions.ts'
import { startOpencodeFake } from '../support/opencode/opencode-fake.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { configFor } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const desk = await startOpencodeFake({ turns: [[{ text: ['Done.'] }]] })
const upstream = await startScriptedUpstream()
after(() => Promise.all([desk.stop(), upstream.stop()]))
const service = await startService({
  config: JSON.stringify({
    ...JSON.parse(configFor(upstream, ['scripted', 'openai/known'])),
    outbound: { allow: [`127.0.0.1:${upstream.port}`, `127.0.0.1:${desk.port}`] },
    runtime_harnesses: [{ alias: 'desk', api_spec: 'opencode', api_base: desk.url }],
  }),
})

const parts = [{ type: 'text', text: 'Hello.' }]
async function post<T = Session>(path: string, body: object): Promise<T> {
  const answer = await send(service, `POST ${path}`, { body })
  assert.ok(answer.status < 300, `${path}: ${answer.status} ${answer.text}`)
  return answer.json<T>()
}

/** The model of the prompt that the remote server gets while `work` is done. */
async function modelAtDesk(work: () => Promise<unknown>): Promise<unknown> {
  const before = desk.prompts().length
  await work()
  const prompt = await eventually(() => desk.prompts()[before], { what: 'the prompt at the remote server' })
  return (prompt as Record<string, unknown>)['model']
}

test('a session on a remote opencode gets a model with its provider, as that server names it', async () => {
  const { id } = await post('/session', { runtime: 'desk' })
  const prompt = (model: object) => modelAtDesk(() => post(`/session/${id}/message`, { model, parts }))
  const sonnet = { providerID: 'anthropic', modelID: 'sonnet' }
  const llama = { providerID: 'openrouter', modelID: 'meta/llama' }
  const known = { providerID: 'openai', modelID: 'known' }
  for (const model of [sonnet, llama, known]) assert.deepEqual(await prompt(model), model)
  assert.deepEqual(await prompt({ modelID: 'anthropic/sonnet' }), sonnet)
  const bare = await prompt({ providerID: 'switchyard', modelID: 'sonnet' })
  assert.deepEqual(bare, sonnet, 'clients name it so because the gateway lists its models so')
  const queued = () => send(service, `POST /session/${id}/prompt_async`, { body: { model: sonnet, parts } })
  assert.deepEqual(await modelAtDesk(queued), sonnet)
})

test('C6: a model that a remote opencode does not have is rejected by name, and nothing is sent there', async () => {
  const { id } = await post('/session', { runtime: 'desk' })
  const before = desk.prompts().length
  const body = { model: { providerID: 'switchyard', modelID: 'scripted' }, parts }
  const { text } = await send(service, `POST /session/${id}/message`, { body })
  assert.match(text, /scripted.{1,3} is unknown to the runtime; use one of anthropic\/sonnet/)
  assert.equal(desk.prompts().length, before)
})

test('C6: a session that names no model, and an agent made without one, leave the choice to a remote opencode', async () => {
  const agent = await post<{ id: string; model: string }>('/api/agents', {
    name: 'A',
    owner_id: 'team',
    runtime: 'desk',
  })
  assert.equal(agent.model, 'default')
  for (const where of [{ runtime: 'desk' }, { agent: agent.id }]) {
    assert.equal(await modelAtDesk(() => post('/session', { ...where, prompt: 'Hello.' })), undefined)
  }
})

test('the first prompt of a new session on a remote opencode keeps the provider of its model', async () => {
  const agent = await post<{ id: string }>('/api/agents', { name: 'A', owner_id: 'team', runtime: 'desk' })
  for (const where of [{ runtime: 'desk' }, { agent: 'desk' }, { agent: agent.id }]) {
    const body = { ...where, prompt: 'Hello.', model: { providerID: 'anthropic', id: 'sonnet' } }
    assert.deepEqual(await modelAtDesk(() => post('/session', body)), { providerID: 'anthropic', modelID: 'sonnet' })
  }
})

test('a session on the built-in runtime goes by the names of the gateway', async () => {
  const { id } = await post('/session', { prompt: 'Hello.', model: { providerID: 'any', id: 'scripted' } })
  for (const providerID of ['any', 'switchyard', 'openai']) {
    await post(`/session/${id}/message`, { model: { providerID, modelID: 'scripted' }, parts })
  }
  await post(`/session/${id}/message`, { model: { providerID: 'openai', modelID: 'known' }, parts })
  const messages = (await send(service, `GET /session/${id}/message`)).json<{ info: Record<string, unknown> }[]>()
  const models = messages.flatMap(({ info }) => (info['role'] === 'assistant' ? [info['modelID']] : []))
  assert.deepEqual(models, ['scripted', 'scripted', 'scripted', 'scripted', 'openai/known'])
})

test('POST /session/{id}/prompt_async with a provider is 404 for a session that is not there', async () => {
  const body = { model: { providerID: 'anthropic', modelID: 'sonnet' }, parts }
  const answer = await send(service, 'POST /session/ses_none/prompt_async', { body })
  assert.equal(answer.status, 404)
  assert.match(answer.text, /session not found/)
})
