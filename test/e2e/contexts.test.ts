import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { AgentContext, SessionContext } from '../../src/contract/contexts.ts'
import type { Memory } from '../../src/contract/memories.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { send } from '../support/service/send.ts'
import { startScriptedRig } from '../support/sessions/scripted-rig.ts'
import { bash, saying } from '../support/upstream/scripted-service.ts'

const rig = await startScriptedRig()
const { ok } = rig
const bob = await holderOf(rig.service, { owner_id: 'bob' })

interface ModelRequest {
  readonly system: readonly { readonly text: string }[]
  readonly tools: readonly { readonly name: string; readonly input_schema: unknown }[]
}

const agentBody = {
  name: 'Scribe',
  owner_id: 'ada',
  model: 'scripted',
  system: 'Write short notes.',
  tools: [
    {
      type: 'agent_toolset_20260401',
      configs: [
        { name: 'bash', permission_policy: { type: 'always_ask' } },
        { name: 'write', permission_policy: { type: 'always_deny' } },
      ],
    },
    { type: 'save_memory' },
    { type: 'custom', name: 'lookup', description: 'Looks up', input_schema: { type: 'object' } },
  ],
}

/** An agent with a skill and two memories, one of them disabled. */
async function scribe(): Promise<Agent> {
  const agent = await ok<Agent>('POST /api/agents', agentBody)
  const { id: skill_id } = await ok<{ id: string }>('POST /api/v1/skills', { name: 'Terse', content: 'Be terse.' })
  const path = `/api/v1/managed_agents/agents/${agent.id}`
  await ok(`POST ${path}/skill`, { skill_id })
  await ok(`POST ${path}/memory`, { text: 'Deploy on Tuesdays' })
  const off = await ok<Memory>(`POST ${path}/memory`, { text: 'Deploy on Fridays' })
  await ok(`PATCH ${path}/memory/${off.id}`, { disabled: true })
  return agent
}

const contextOf = (agent: Pick<Agent, 'id'>, query = '') =>
  ok<AgentContext>(`GET /api/agents/${agent.id}/context${query}`)

test('GET /api/agents/{agent_id}/context has the prompt and the tools that a new session sends to its model', async () => {
  const agent = await scribe()
  const before = rig.upstream.requests.length
  const context = await contextOf(agent)
  assert.equal(rig.upstream.requests.length, before)
  assert.deepEqual(
    context.parts.map(({ kind, name }) => [kind, name]),
    [
      ['system', null],
      ['skill', 'Terse'],
      ['environment', null],
      ['memories', null],
    ],
  )
  assert.deepEqual(
    context.memories.map(({ memory, injected, reason }) => [memory.text, injected, reason]),
    [
      ['Deploy on Tuesdays', true, 'injected'],
      ['Deploy on Fridays', false, 'disabled'],
    ],
  )
  assert.deepEqual([context.agent_version, context.runtime, context.model], [2, 'builtin', 'scripted'])
  assert.deepEqual([context.is_complete, context.notes], [true, []])
  const policies = Object.fromEntries(context.tools.map(({ name, policy, is_shown }) => [name, [policy, is_shown]]))
  assert.deepEqual(
    [policies['bash'], policies['write'], policies['read'], policies['lookup']],
    [
      ['ask', true],
      ['deny', false],
      ['allow', true],
      ['allow', true],
    ],
  )

  await ok('POST /session', { agent_id: agent.id, prompt: saying({ text: 'Noted' }) })
  await rig.upstream.received(before + 1)
  const sent = rig.upstream.requests[before]?.body as unknown as ModelRequest
  assert.equal(context.parts.map(({ text }) => text).join(''), sent.system.map(({ text }) => text).join(''))
  const shown = context.tools.filter(({ is_shown }) => is_shown)
  assert.deepEqual(
    shown.map(({ name, input_schema }) => [name, input_schema]),
    sent.tools.map(({ name, input_schema }) => [name, input_schema]),
  )
  const tokens = [...context.parts, ...shown].reduce((sum, { estimated_tokens }) => sum + estimated_tokens, 0)
  assert.equal(context.estimated_tokens, tokens)
  assert.ok(shown.every(({ estimated_tokens }) => estimated_tokens > 0))
})

test('a version and a first prompt change what it shows, and it marks no memory as applied', async () => {
  const agent = await scribe()
  const first = await contextOf(agent, '?version=1&prompt=Hello')
  assert.deepEqual(
    first.parts.map(({ kind }) => kind),
    ['system', 'environment', 'memories', 'prompt'],
  )
  assert.equal(first.parts.at(-1)?.text, 'Hello')
  const memories = await ok<Memory[]>(`GET /api/v1/managed_agents/agents/${agent.id}/memory`)
  assert.ok(memories.every(({ times_applied }) => times_applied === 0))
  for (const [path, status] of [
    [`/api/agents/${agent.id}/context?version=9`, 404],
    [`/api/agents/${agent.id}/context?version=0`, 400],
    ['/api/agents/agent_none/context', 404],
  ] as const)
    assert.equal((await send(rig.service, `GET ${path}`)).status, status)
  assert.equal((await send(bob, `GET /api/agents/${agent.id}/context`)).status, 404)
})

test('GET /api/sessions/{session_id}/context has memories as they were selected, the conversation and the last request', async () => {
  const agent = await scribe()
  const fresh = await ok<Session>('POST /session', { agent_id: agent.id })
  const unused = await ok<SessionContext>(`GET /api/sessions/${fresh.id}/context`)
  assert.deepEqual(
    [unused.last_request, unused.compactions, unused.conversation],
    [null, [], { messages: 0, estimated_tokens: 0 }],
  )

  const prompt = saying(
    { text: 'Looking', tool_calls: [{ name: 'read', input: { file_path: 'none.txt' } }] },
    { text: 'Done' },
  )
  const session = await ok<Session>('POST /session', { agent_id: agent.id, prompt, timezone: 'Europe/Berlin' })
  await ok(`GET /v1/sessions/${session.id}/events?types=session.status_idle&wait=30`)
  await ok(`POST /api/v1/managed_agents/agents/${agent.id}/memory`, { text: 'Added later' })
  const context = await ok<SessionContext>(`GET /api/sessions/${session.id}/context`)
  assert.deepEqual(
    context.memories.map(({ memory, reason }) => [memory.text, reason]),
    [
      ['Deploy on Tuesdays', 'injected'],
      ['Added later', 'not_selected'],
      ['Deploy on Fridays', 'disabled'],
    ],
  )
  assert.match(context.parts.find(({ kind }) => kind === 'environment')?.text ?? '', /Europe\/Berlin/)
  assert.deepEqual([context.session_id, context.agent_version, context.conversation?.messages], [session.id, 2, 4])
  assert.ok((context.conversation?.estimated_tokens ?? 0) > 0)
  assert.ok((context.last_request?.input_tokens ?? 0) > 0 && context.last_request?.model === 'scripted')

  await ok(`POST /session/${session.id}/compact`)
  const compacted = await ok<{ data: unknown[] }>(
    `GET /v1/sessions/${session.id}/events?types=agent.thread_context_compacted&wait=30`,
  )
  assert.equal(compacted.data.length, 1)
  const after = await ok<SessionContext>(`GET /api/sessions/${session.id}/context`)
  assert.deepEqual(
    after.compactions.map(({ reason }) => reason),
    ['request'],
  )
  assert.ok((after.compactions[0]?.tokens_before ?? 0) > 0 && (after.compactions[0]?.tokens_after ?? 0) > 0)
  assert.equal((await send(bob, `GET /api/sessions/${session.id}/context`)).status, 404)
})

test('a session without an agent has its own context', async () => {
  const session = await ok<Session>('POST /session', { prompt: saying(bash('true'), { text: 'Done' }) })
  const context = await ok<SessionContext>(`GET /api/sessions/${session.id}/context`)
  assert.deepEqual([context.agent_id, context.agent_version, context.memories], ['', null, []])
  assert.ok(context.tools.length > 0)
})
