import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOpencodeClient } from '@opencode-ai/sdk'
import { send } from '../support/service/send.ts'
import { startScriptedService } from '../support/upstream/scripted-service.ts'

const { service } = await startScriptedService({ script: () => ({ text: 'Done.' }) })
const client = createOpencodeClient({ baseUrl: service.url, headers: { authorization: `Bearer ${service.key}` } })
/** What the terminal sends with each request. */
const ofClient = { 'x-opencode-directory': '%2Fhome' }
const parts = [{ type: 'text' as const, text: 'Hello.' }]

async function newSession(): Promise<string> {
  const agent = { name: 'A', owner_id: 'team', model: 'scripted' }
  const { id } = (await send(service, 'POST /api/agents', { body: agent })).json<{ id: string }>()
  return (await send(service, 'POST /session', { body: { agent_id: id } })).json<{ id: string }>().id
}

test('DD2: a prompt that names no model runs with the model of the agent', async () => {
  const { data } = await client.session.prompt({ path: { id: await newSession() }, body: { parts } })
  assert.equal(data?.info.modelID, 'scripted')
  // Their terminal names its folder in each request.
  const line = `POST /session/${await newSession()}/prompt_async`
  assert.equal((await send(service, line, { headers: ofClient, body: { parts } })).status, 204)
  assert.equal((await send(service, line, { body: { parts } })).status, 400)
})

test('DD2: noReply, tools and files by address are rejected by name, and false or nothing is none', async () => {
  const id = await newSession()
  const file = { type: 'file', mime: 'text/plain', url: 'file:///etc/hostname' }
  for (const [fields, message] of [
    [{ parts, noReply: true }, /noReply is not supported/],
    [{ parts, tools: { bash: false } }, /tools cannot be set for one prompt/],
    [{ parts: [...parts, file] }, /parts\[1\]\.url must be a data: URL in base64/],
  ] as const) {
    for (const call of ['message', 'prompt_async']) {
      const answer = await send(service, `POST /session/${id}/${call}`, { headers: ofClient, body: fields })
      assert.equal(answer.status, 400)
      assert.match(answer.text, /error/)
      assert.match(answer.json<{ error: { message: string } }>().error.message, message)
    }
  }
  const body = { parts, noReply: false, tools: {} }
  assert.equal((await send(service, `POST /session/${id}/message`, { body })).status, 200)
})

test('DD2: what opencode’s clients read of commands, files, the branch and MCP servers is there, and empty', async () => {
  const lists = await Promise.all([
    client.command.list(),
    client.file.list({ query: { path: '.' } }),
    client.file.status(),
    client.find.text({ query: { pattern: 'x' } }),
    client.find.files({ query: { query: 'x' } }),
    client.find.symbols({ query: { query: 'x' } }),
  ])
  for (const { data } of lists) assert.deepEqual(data, [])
  const content = await client.file.read({ query: { path: 'a.txt' } })
  assert.deepEqual(content.data, { type: 'text', content: '' })
  assert.deepEqual((await client.vcs.get()).data, { branch: '' })
  assert.deepEqual((await client.mcp.status()).data, {})
  const said = await client.app.log({ body: { service: 'test', level: 'info', message: 'hello' } })
  assert.equal(said.data, true)
})
