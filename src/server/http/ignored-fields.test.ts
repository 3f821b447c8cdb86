import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { AgentWrite } from '../../contract/agents.ts'
import { allRoutes } from '../../contract/api.ts'
import { sessionRoutes } from '../../contract/sessions.ts'
import { ignoredIn, ignoredValue } from './ignored-fields.ts'
import { unknownFields } from './unknown-fields.ts'

const headerOf = (body: unknown) => ignoredValue(ignoredIn(sessionRoutes.create.body, body))
const pathsIn = (...args: Parameters<typeof unknownFields>) => [...unknownFields(...args)].map(({ path }) => path)

test('D10: only unknown fields are listed, with the closest known name', () => {
  assert.equal(headerOf({ prompt: 'x', title: 'y', model: { id: 'demo' } }), undefined)
  assert.equal(headerOf({ promt: 'x', colour: 1, title: 'y' }), 'promt (did you mean prompt?), colour')
})

test('D10: only the top level of a body is checked', () => {
  assert.equal(headerOf({ environment: { anything: 1 } }), undefined)
  const write = { name: 'a', owner_id: 'b', config: { x: 1, webhook: { y: 2 } }, tools: [{ type: 'z', w: 1 }] }
  assert.deepEqual(ignoredIn(AgentWrite, write), [])
})

test('D10: the header has at most 20 names and 1 KB, and no unsafe names', () => {
  const named = (names: readonly string[]) => ignoredValue(names.map(name => ({ name }))) ?? ''
  assert.equal(named(['a\r\nx: y', 'b c', 'ü', '', 'x'.repeat(65), 'good']), 'good, +5')
  assert.equal(named(['bad name']), '+1')
  assert.ok(named(Array.from({ length: 25 }, (_, at) => `f${at}`)).endsWith(', f19, +5'))
  const long = named(Array.from({ length: 20 }, (_, at) => `${at}${'x'.repeat(62)}`))
  assert.ok(long.length <= 1024 && /, \+\d+$/.test(long), String(long.length))
  const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`promt${at}`, 1]))
  const header = headerOf(many) ?? ''
  assert.ok(header.length <= 1024 && header.endsWith('+99980'), header)
})

test('D10: the deep check handles alternatives, arrays and open objects', () => {
  const schema = Type.Object({
    either: Type.Union([Type.Object({ a: Type.Number() }), Type.Object({ b: Type.Number() }), Type.Null()]),
    list: Type.Array(Type.Object({ c: Type.Number() })),
    open: Type.Intersect([Type.Record(Type.String(), Type.Unknown()), Type.Object({ d: Type.Number() })]),
    any: Type.Unknown(),
  })
  const good = { either: { a: 1 }, list: [{ c: 1 }], open: { d: 1, e: 2 }, any: { f: 1 } }
  assert.deepEqual(pathsIn(schema, good, true), [])
  const bad = { either: { b: 1, x: 1 }, list: [{ c: 1 }, { y: 1 }], open: {}, any: [], z: 1 }
  assert.deepEqual(pathsIn(schema, bad, true), ['either.x', 'list[1].y', 'z'])
  assert.deepEqual(pathsIn(schema, bad, false), ['z'])
})

test('D10: routes of the interface and of dialects list unknown fields, our own routes reject them', () => {
  const withBody = allRoutes.filter(({ body, access }) => body && access !== 'webhook')
  const of = (treatment: string) =>
    withBody
      .filter(({ unknownFields = 'rejected' }) => unknownFields === treatment)
      .map(({ method, path }) => `${method} ${path}`)
  for (const line of [
    'POST /session',
    'POST /session/{session_id}/prompt_async',
    'POST /api/agents',
    'PATCH /api/agents/{agent_id}',
    'POST /api/v1/managed_agents/agents/{agent_id}/memory',
    'PATCH /api/v1/managed_agents/agents/{agent_id}/memory/{memory_id}',
    'POST /api/v1/skills',
    'PATCH /api/v1/skills/{skill_id}',
    'POST /api/v1/managed_agents/agents/{agent_id}/skill',
    'PUT /api/agent-runtimes/{runtime_id}/credentials',
    'POST /api/keys',
    'POST /v1/agents',
    'POST /v1/sessions',
    'POST /v1/environments',
    'POST /session/{session_id}/message',
  ]) {
    assert.ok(of('reported').includes(line), line)
  }
  for (const line of ['POST /api/schedules', 'PATCH /api/keys/{key_id}', 'POST /api/webhook-endpoints']) {
    assert.ok(of('rejected').includes(line), line)
  }
})
