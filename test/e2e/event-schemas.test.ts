import assert from 'node:assert/strict'
import { test } from 'node:test'
import Value from 'typebox/value'
import type { SessionEvent } from '../../src/contract/events.ts'
import { eventSchemas } from '../../src/contract/session-events.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { bash, saying, startScriptedService } from '../support/upstream/scripted-service.ts'

const { service } = await startScriptedService({ models: ['scripted'] })

async function ok<T>(line: string, body?: object): Promise<T> {
  const answer = await send(service, line, body === undefined ? {} : { body })
  assert.ok(answer.status < 300, `${line}: ${answer.text}`)
  return answer.text === '' ? (undefined as T) : answer.json<T>()
}

const logOf = async (id: string) =>
  (await ok<{ data: SessionEvent[] }>(`GET /v1/sessions/${id}/events?limit=1000`)).data
const ask = (id: string, text: string, model = 'scripted') =>
  ok<void>(`POST /session/${id}/prompt_async`, { model: { modelID: model }, parts: [{ type: 'text', text }] })
const countOf = async (id: string, type: SessionEvent['type']) =>
  (await logOf(id)).filter(event => event.type === type).length

/** Returns what does not fit the schema of its type. */
function faultsOf(event: SessionEvent): string[] {
  const schema = eventSchemas.find(({ properties }) => properties.type.const === event.type)
  if (!schema) return [`${event.type} is not in the contract`]
  const faults = Value.Errors(schema, event).map(({ instancePath, message }) => `${instancePath} ${message}`)
  const unknown = Object.keys(event).filter(name => !(name in schema.properties))
  return [...faults, ...unknown.map(name => `${name} is not in the schema`)].map(fault => `${event.type}: ${fault}`)
}

test('every event of runs, tools, failures, compactions, file changes, forks and deletions fits its schema', async () => {
  const { id } = await ok<Session>('POST /session', { title: 'A session' })
  await ask(id, saying(bash('echo one > one.txt'), { text: 'Done.' }))
  await eventually(async () => (await countOf(id, 'session.status_idle')) === 1)
  await ask(id, 'Hello', 'no-such-model')
  await eventually(async () => (await countOf(id, 'session.error')) === 1)
  await ok<boolean>(`POST /session/${id}/summarize`, {})
  await send(service, `DELETE /api/sessions/${id}/files/one.txt`)
  const fork = await ok<Session>(`POST /session/${id}/fork`, {})
  await ok<unknown>(`DELETE /session/${fork.id}`)
  const events = [...(await logOf(id)), ...(await logOf(fork.id))]
  assert.deepEqual(events.flatMap(faultsOf), [])
  const types = new Set<string>(events.map(({ type }) => type))
  for (const type of ['agent.tool_result', 'session.error', 'session.forked', 'session.deleted', 'user.compact'])
    assert.ok(types.has(type), `no ${type} in ${[...types].join(', ')}`)
})
