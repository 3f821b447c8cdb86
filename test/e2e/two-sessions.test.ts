import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { Memory } from '../../src/contract/memories.ts'
import type { Session } from '../../src/contract/sessions.ts'
import type { Skill } from '../../src/contract/skills.ts'
import { send } from '../support/service/send.ts'
import { followEvents } from '../support/sessions/event-tail.ts'
import { saying, startScriptedService } from '../support/upstream/scripted-service.ts'

const { service, upstream } = await startScriptedService()

async function ok<T>(line: string, body?: object): Promise<T> {
  const answer = await send(service, line, body ? { body } : {})
  assert.ok(answer.status < 300, `${line}: ${answer.status} ${answer.text}`)
  return answer.text === '' ? (undefined as T) : answer.json<T>()
}

const system = 'You keep house.\n\nNothing else.'
const { id: agentId } = await ok<Agent>('POST /api/agents', {
  name: 'Keeper',
  owner_id: 'home',
  model: 'scripted',
  system,
})
const ofAgent = `/api/v1/managed_agents/agents/${agentId}`

/** Runs one prompt in its own session; the system prompt of its first model request, as the upstream saw it. */
async function systemOfNewSession(prompt: string): Promise<string> {
  const before = upstream.requests.length
  const { id } = await ok<Session>('POST /session', { agent_id: agentId, prompt })
  const tail = await followEvents(service, id)
  await tail.event('session.status_idle')
  tail.close()
  const blocks = upstream.requests[before]?.body['system'] as { readonly text: string }[]
  return blocks.map(({ text }) => text).join('\n---\n')
}

test('what an agent saves in one session is in the prompt of the next one; detaching a skill restores the prompt exactly', async () => {
  const save = { name: 'save_memory', input: { text: 'The spare key is under the third pot.' } }
  const first = await systemOfNewSession(saying({ text: 'I note that.', tool_calls: [save] }, { text: 'Noted.' }))
  assert.ok(!first.includes('third pot'))
  const [memory] = await ok<Memory[]>(`GET ${ofAgent}/memory`)
  assert.deepEqual([memory?.text, memory?.source], [save.input.text, 'agent'])

  const second = await systemOfNewSession(saying({ text: 'I know.' }))
  assert.ok(second.includes(save.input.text), second)

  await ok(`PATCH ${ofAgent}/memory/${memory?.id}`, { disabled: true })
  assert.equal(await systemOfNewSession(saying({ text: 'I do not know.' })), first)

  const skill = await ok<Skill>('POST /api/v1/skills', { name: 'Polite', content: 'Always say please.\n' })
  await ok(`POST ${ofAgent}/skill`, { skill_id: skill.id })
  const polite = await systemOfNewSession(saying({ text: 'Please.' }))
  assert.ok(polite.includes('Always say please.'))
  assert.notEqual(polite, first)

  await ok(`DELETE ${ofAgent}/skill?skill_id=${skill.id}`)
  assert.equal((await ok<Agent>(`GET /api/agents/${agentId}`)).system, system)
  assert.equal(await systemOfNewSession(saying({ text: 'Plain.' })), first)
})
