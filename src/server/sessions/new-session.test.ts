import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { registryOf } from '../../../test/support/gateway/registry-of.ts'
import { AppError } from '../platform/errors.ts'
import type { Runtime } from '../runtimes/runtime.ts'
import { isTimeZone, planSession, titleOf } from './new-session.ts'

const caller = { principal: 'ada', role: 'user', ownerScope: 'ada', key: undefined } as const
const builtin = { id: 'builtin' } as Runtime
const hx = { id: 'hx' } as Runtime
const agent = {
  id: 'agent_1',
  owner_id: 'ada',
  version: 3,
  status: 'active',
  model: 'agent-model',
  harness: 'builtin',
  config: {},
}

const plan = (body: Parameters<typeof planSession>[1], found: object | undefined = agent) =>
  planSession(
    {
      agents: {
        find: async id => (id === 'agent_1' ? (found as never) : undefined),
        version: async (_id, version) =>
          version < 3 ? ({ version, agent: { ...found, version } } as never) : undefined,
      },
      runtimes: registryOf(builtin, hx),
      defaultModel: () => 'default-model',
      checkSupport: async () => undefined,
    },
    body,
    caller,
  )

const refused = (code: string, message: RegExp) => (error: unknown) =>
  error instanceof AppError && error.code === code && message.test(error.message)

test('a title is the first 80 characters of the prompt on one line', () => {
  assert.equal(titleOf('  Fix\n\n the   build '), 'Fix the build')
  assert.equal(titleOf('x'.repeat(81)), 'x'.repeat(80))
  assert.equal(titleOf('😀'.repeat(81)), '😀'.repeat(80), 'no character is cut in half')
})

test('a session without a prompt has a title too', () => {
  for (const prompt of [undefined, '', ' \n ']) assert.equal(titleOf(prompt), 'New session')
})

test('a title is never empty, never longer than 80 characters, and has no line break', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), prompt => {
      const title = titleOf(prompt)
      assert.ok(title.length > 0 && [...title].length <= 80 && !/[\r\n]/.test(title))
    }),
  )
})

test('only IANA time zone names are accepted', () => {
  for (const name of ['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires', 'Asia/Kathmandu', 'Pacific/Apia']) {
    assert.equal(isTimeZone(name), true, name)
  }
  for (const name of ['', '+02:00', 'Mars/Olympus', 'Europe/', 'Europe/Berlin ', '../etc/passwd']) {
    assert.equal(isTimeZone(name), false, name)
  }
})

test('an empty body creates a session without an agent, on the built-in runtime with the default model', async () => {
  const { session, model } = await plan({})
  assert.equal(model, 'default-model')
  const { id: _, ...rest } = session
  assert.deepEqual(rest, {
    owner_id: 'ada',
    title: 'New session',
    agent: '',
    agent_id: '',
    agent_version: null,
    harness: 'builtin',
    runtime: 'builtin',
    environment: {},
    timezone: null,
    ancestors: [],
  })
})

test('the model comes from the body, else the environment, else the agent', async () => {
  const environment = { model: 'environment-model' }
  assert.equal((await plan({ agent_id: 'agent_1', environment, model: 'body-model' })).model, 'body-model')
  assert.equal((await plan({ agent_id: 'agent_1', environment })).model, 'environment-model')
  assert.equal((await plan({ agent_id: 'agent_1' })).model, 'agent-model')
})

test('a session records the version of its agent, and agent may be the alias of a runtime', async () => {
  assert.equal((await plan({ agent_id: 'agent_1' })).session.agent_version, 3)
  const { session } = await plan({ agent: 'builtin' })
  assert.deepEqual([session.agent, session.agent_id, session.runtime], ['builtin', '', 'builtin'])
})

test('D1: harness selects the runtime like runtime, runtime wins over harness, and the record names the selected one', async () => {
  const chosen = async (body: Parameters<typeof planSession>[1], of?: object) => {
    const { session } = await plan(body, of)
    assert.equal(session.harness, session.runtime)
    return session.harness
  }
  assert.equal(await chosen({ harness: 'hx' }), 'hx')
  assert.equal(await chosen({ runtime: 'hx' }), 'hx')
  assert.equal(await chosen({ runtime: 'builtin', harness: 'hx' }), 'builtin')
  assert.equal(await chosen({ agent: 'hx', harness: 'builtin' }), 'builtin')
  const onHx = { ...agent, harness: 'builtin', config: { runtime: 'hx' } }
  assert.equal(await chosen({ agent_id: 'agent_1' }, onHx), 'hx')
  assert.equal(await chosen({ agent_id: 'agent_1', harness: 'builtin' }, onHx), 'builtin')
  await assert.rejects(plan({ harness: 'nope' }), refused('invalid_request', /^harness "nope" is unknown/))
  const beside = plan({ runtime: 'builtin', harness: 'nope' })
  await assert.rejects(beside, refused('invalid_request', /^harness "nope" is unknown/))
})

test('timezone wins over tz', async () => {
  assert.equal((await plan({ timezone: 'UTC', tz: 'Europe/Berlin' })).session.timezone, 'UTC')
  assert.equal((await plan({ tz: 'Europe/Berlin' })).session.timezone, 'Europe/Berlin')
})

test('an unusable value is rejected with the name of its field', async () => {
  await assert.rejects(plan({ tz: 'Mars/Olympus' }), refused('invalid_request', /^tz "Mars\/Olympus" is not an IANA/))
  await assert.rejects(plan({ runtime: 'gone' }), refused('invalid_request', /^runtime "gone" is unknown/))
  const blank = { environment: { repository: ' ' } }
  await assert.rejects(plan(blank), refused('invalid_request', /^environment\.repository/))
  await assert.rejects(plan({ agent_id: 'agent_2' }), refused('not_found', /^agent agent_2 not found$/))
  const paused = plan({ agent_id: 'agent_1' }, { ...agent, status: 'paused' })
  await assert.rejects(paused, refused('conflict', /is paused/))
})
