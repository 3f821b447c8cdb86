// Sends cursors with bytes that no list returned to every list: NUL, broken UTF-8, control characters, wrong alphabets.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import { allRoutes } from '../../src/contract/api.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'

const service = await startService()
const lists = allRoutes.flatMap(({ method, path, query }) => {
  const names = Object.keys((query as { properties?: object } | undefined)?.properties ?? {})
  return method === 'GET' ? ['cursor', 'page'].filter(name => names.includes(name)).map(name => ({ path, name })) : []
})
const cursors = ['a\0b', '\0', 'global:\0', '1.2\0', '1 \0', '\u0001', "'; drop table agents --"].map(text =>
  Buffer.from(text).toString('base64url'),
)
const odd = ['AA', '_w', '%00', '%FF', '====', 'a'.repeat(200)]

test('L1: no list answers a cursor with 500', async () => {
  const body = { name: 'A', owner_id: 'team', model: 'demo' }
  const agent = (await send(service, 'POST /api/agents', { body })).json<Agent>()
  const session = (await send(service, 'POST /session', { body: { agent_id: agent.id } })).json<{ id: string }>()
  assert.ok(lists.length >= 15, String(lists.length))
  for (const { path, name } of lists) {
    const filled = path
      .replaceAll(/\{session_id\}/g, session.id)
      .replaceAll(/\{(agent_id|id)\}/g, path.includes('session') ? session.id : agent.id)
      .replaceAll(/\{\w+\}/g, 'x')
    for (const cursor of [...cursors, ...odd]) {
      const answer = await send(service, `GET ${filled}?${name}=${cursor}`)
      assert.ok(answer.status < 500, `${filled}?${name}=${cursor}: ${answer.text}`)
    }
  }
})
