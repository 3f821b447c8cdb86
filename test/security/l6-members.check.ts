// Sends free-form JSON with very many members: in config, environment, metadata and tools, flat and nested.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { send } from '../support/send.ts'
import { startService } from '../support/service.ts'
import { answersInTime } from './beside.ts'

const service = await startService()
const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`k${at}`, at]))
const agent = { name: 'A', owner_id: 'team', model: 'demo' }
const bodies: readonly (readonly [line: string, body: object])[] = [
  ['POST /api/agents', { ...agent, config: many }],
  ['POST /api/agents', { ...agent, config: { nested: { more: many } } }],
  ['POST /api/agents', { ...agent, tools: many }],
  ['POST /session', { environment: many }],
  ['POST /api/keys', { label: 'k', metadata: many }],
]

for (const [line, body] of bodies) {
  test(`L6: ${line} with 100,000 members in ${Object.keys(body).at(-1)} is refused at once`, async () => {
    // Written before, so that the attacker's own work is not measured.
    const bytes = Buffer.from(JSON.stringify(body))
    await answersInTime(service, async () => {
      const answer = await send(service, line, { body: bytes })
      assert.equal(answer.status, 400, answer.text.slice(0, 200))
      assert.match(answer.text, /more than 10000 members/)
    })
  })
}
