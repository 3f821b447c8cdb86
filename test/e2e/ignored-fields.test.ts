import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import { send } from '../support/send.ts'
import { startService } from '../support/service.ts'

const service = await startService()
const agent = { name: 'Ada', owner_id: 'team' }
const header = 'x-switchyard-ignored'

const ask = async (line: string, body: unknown) => {
  const { status, headers, text } = await send(service, line, { body })
  return { status, ignored: headers[header], text }
}

test('D10: POST /session with a misspelt field works and names it, whatever the answer', async () => {
  const made = await ask('POST /session', { titel: 'T', 'x\r\ny: z': 1 })
  assert.deepEqual([made.status, made.ignored], [200, 'titel (did you mean title?), +1'])
  assert.equal((await ask('POST /session', { title: 'T' })).ignored, undefined)
  const refused = await ask('POST /session', { titel: 'T', harness: 'nope' })
  assert.deepEqual([refused.status, refused.ignored], [400, 'titel (did you mean title?)'])
})

test('D10: agents, skills, memories, keys and the served dialects name unknown fields as well', async () => {
  const { id } = (await send(service, 'POST /api/agents', { body: agent })).json<Agent>()
  const dialect = { name: 'Ada', model: 'demo' }
  for (const [line, body] of [
    ['POST /api/agents', agent],
    [`PATCH /api/agents/${id}`, agent],
    ['POST /api/v1/skills', { name: 'S', content: 'c' }],
    [`POST /api/v1/managed_agents/agents/${id}/memory`, { text: 't' }],
    ['POST /api/keys', { label: 'l' }],
    ['POST /v1/agents', dialect],
    [`POST /v1/agents/${id}`, {}],
    ['POST /v1/environments', { name: 'E' }],
  ] as const) {
    const { status, ignored, text } = await ask(line, { ...body, surprise: 1 })
    assert.deepEqual([Math.floor(status / 100), ignored], [2, 'surprise'], `${line}: ${text}`)
  }
})

test('D10: a route of our own refuses an unknown field at any depth, with what was probably meant', async () => {
  const schedule = { name: 'S', agent_id: 'a', cron: '0 9 * * *', prompt: 'p', promt: 'q' }
  const answer = await ask('POST /api/schedules', schedule)
  assert.equal(answer.status, 400)
  assert.match(answer.text, /unknown field \\"promt\\"; did you mean prompt\?/)
  const { id } = (await send(service, 'POST /api/agents', { body: agent })).json<Agent>()
  const file = (await send(service, `GET /api/agents/${id}/export`)).json<{ agent: object }>()
  assert.equal((await ask('POST /api/agents/import', file)).status, 201)
  const nested = await ask('POST /api/agents/import', { ...file, agent: { ...file.agent, sistem: 'x' } })
  assert.equal(nested.status, 400)
  assert.match(nested.text, /unknown field \\"agent\.sistem\\"; did you mean system\?/)
})
