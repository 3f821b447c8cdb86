// Sends free-form JSON with very many members, and with very many items: in config, environment, metadata and tools, flat and nested.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { answersInTime } from './beside.ts'

const service = await startService()
const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`k${at}`, at]))
const items = Array.from({ length: 900_000 }, () => 1)
const agent = { name: 'A', owner_id: 'team', model: 'demo' }
const bodies: readonly (readonly [line: string, body: object])[] = [
  ['POST /api/agents', { ...agent, config: many }],
  ['POST /api/agents', { ...agent, config: { nested: { more: many } } }],
  ['POST /api/agents', { ...agent, tools: many }],
  ['POST /session', { environment: many }],
  ['POST /api/keys', { label: 'k', metadata: many }],
]
const withItems: typeof bodies = [
  ['POST /api/agents', { ...agent, config: { nested: items } }],
  ['POST /session', { environment: { nested: [items] } }],
]

for (const [line, body, words] of [
  ...bodies.map(one => [...one, '10000 members'] as const),
  ...withItems.map(one => [...one, '100000 items'] as const),
]) {
  test(`L6: ${line} with more than ${words} in ${Object.keys(body).at(-1)} is rejected at once`, async () => {
    // Written before, so that the attacker's own work is not measured.
    const bytes = Buffer.from(JSON.stringify(body))
    await answersInTime(service, async () => {
      const answer = await send(service, line, { body: bytes })
      assert.equal(answer.status, 400, answer.text.slice(0, 200))
      assert.ok(answer.text.includes(`more than ${words}`), answer.text.slice(0, 200))
    })
  })
}
