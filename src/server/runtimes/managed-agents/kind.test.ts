import assert from 'node:assert/strict'
import { test } from 'node:test'
import { managedAgentsStage } from '../../../../test/support/managed-agents/managed-agents-stage.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { noRefs, promptOf } from '../../../../test/support/sessions/run-rig.ts'
import { createOutbound } from '../../platform/outbound.ts'
import { RuntimeFailure } from '../runtime.ts'
import { managedAgentsKind } from './kind.ts'

const { signal } = new AbortController()

test('a check verifies address and key; the models are those of the server', async t => {
  const { fake, kind } = await managedAgentsStage(t)
  const endpoint = { id: 'cma', apiBase: fake.url, apiKey: fake.apiKey }
  await kind.check(endpoint, signal)
  assert.deepEqual(await kind.models(endpoint, signal), [
    { id: 'claude-fake-1', display_name: 'Claude Fake 1' },
    { id: 'claude-fake-2', display_name: 'Claude Fake 2' },
  ])
  const refused = (error: unknown) => error instanceof RuntimeFailure && error.status === 401
  await assert.rejects(kind.check({ ...endpoint, apiKey: 'sk-wrong' }, signal), refused)
  await assert.rejects(kind.models({ ...endpoint, apiKey: undefined }, signal), refused)
})

test('an address that is not allowed is not called', async t => {
  const { fake } = await managedAgentsStage(t)
  const kind = managedAgentsKind({ outbound: createOutbound({ allow: [] }), memories: async () => '' })
  await assert.rejects(kind.check({ id: 'cma', apiBase: fake.url, apiKey: 'k' }, signal), /outbound\.allow/)
  assert.equal(fake.requests.length, 0)
})

test('the capability flags show that a prompt cannot choose its model', async t => {
  const { kind } = await managedAgentsStage(t)
  const { model_per_prompt, steer, streaming, interrupt, approvals, resume } = kind.capabilities
  assert.deepEqual([model_per_prompt, steer], [false, false])
  assert.deepEqual([streaming, interrupt, approvals, resume], [true, true, true, true])
})

test('deleting a session deletes it at the provider, archives its agent and deletes its environment', async t => {
  const { fake, rig, runtime } = await managedAgentsStage(t)
  await rig.run(runtime, promptOf('Hi'))
  await eventually(() => fake.session.status === 'idle')
  await runtime.dispose({ id: rig.session.id, refs: rig.refs })
  assert.equal(fake.sessions.size, 0)
  assert.equal(fake.environments.size, 0)
  assert.ok([...fake.agents.values()][0]?.['archived_at'])
  // Deleting a missing session succeeds.
  await runtime.dispose({ id: rig.session.id, refs: rig.refs })
  await runtime.dispose({ id: rig.session.id, refs: noRefs })
})

test('a running session is stopped before it is deleted', async t => {
  const { fake, rig, runtime } = await managedAgentsStage(t, {
    script: () => [{ raw: { type: 'agent.tool_use', name: 'bash', input: {} } }, { hang: true }],
  })
  await rig.run(runtime, promptOf('Hi'), { onBatch: () => true })
  const { session } = fake
  await runtime.dispose({ id: rig.session.id, refs: rig.refs })
  assert.equal(session.interrupts, 1)
  assert.equal(fake.sessions.size, 0)
})

test('a failed deletion rejects, so that it is retried', async t => {
  const { fake, rig, runtime } = await managedAgentsStage(t)
  await rig.run(runtime, promptOf('Hi'))
  fake.state.fault = ({ method }) => (method === 'DELETE' ? { status: 500 } : undefined)
  await assert.rejects(runtime.dispose({ id: rig.session.id, refs: rig.refs }), RuntimeFailure)
})
