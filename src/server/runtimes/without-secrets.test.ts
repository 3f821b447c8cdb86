import assert from 'node:assert/strict'
import { test } from 'node:test'
import { managedAgentsStage } from '../../../test/support/managed-agents/managed-agents-stage.ts'
import { type LooseFields, looseEvent } from '../../../test/support/sessions/loose-event.ts'
import { promptOf, runRig, sessionWith } from '../../../test/support/sessions/run-rig.ts'
import { wholeEchoes } from '../platform/echoes.ts'
import { createRuntimeCache } from './registry/runtime-cache.ts'
import { type Batch, idle, type RunContext, RuntimeFailure } from './runtime.ts'
import { withoutSecrets } from './without-secrets.ts'

const key = 'sk-canary-"0123456789"-wxyz'
const secrets = { endpoint: { apiKey: key }, models: () => wholeEchoes([]) }
const base64 = Buffer.from(`opencode:${key}`).toString('base64')

/** A runtime that publishes these preview pieces and then yields these batches. */
const saying = (batches: readonly Batch[], pieces: readonly string[] = []) =>
  async function* (_session: unknown, _prompt: unknown, { preview }: RunContext) {
    for (const piece of pieces) preview('evt_1', piece)
    yield* batches
  }

const refsOf = (refs: object) => ({ runtime_state: { ...refs } })

test('S18: events do not contain a key that a runtime or its tools repeat', async () => {
  const said: LooseFields[] = [
    { type: 'agent.message', content: [{ type: 'text', text: `Your key is ${key}, is it not?` }] },
    { type: 'agent.tool_use', name: 'bash', input: { command: ['curl', '-H', `x: ${key}`], [key]: 1 } },
    { type: 'agent.tool_result', content: [{ type: 'text', text: JSON.stringify({ env: { KEY: key } }) }] },
    { type: 'agent.tool_result', content: [{ type: 'text', text: `authorization: Basic ${base64}` }] },
    { type: 'agent.tool_result', content: [{ type: 'text', text: `?key=${encodeURIComponent(key)}` }] },
    { type: 'agent.tool_result', content: [{ type: 'text', text: Buffer.from(key).toString('hex') }] },
  ]
  const rig = runRig()
  const refs = refsOf({ kept: key })
  await rig.run(
    {
      run: withoutSecrets(
        saying([said.map(looseEvent), { events: [looseEvent(said[0] ?? assert.fail())], refs }]),
        secrets,
      ),
    },
    promptOf('Hi'),
  )
  const log = JSON.stringify(rig.log)
  assert.equal(log.split('[secret]').length - 1, 8)
  assert.doesNotMatch(log, /canary|wxyz/)
  for (const offset of [0, 1, 2])
    assert.ok(
      !log.includes(
        Buffer.from(`${'.'.repeat(offset)}${key}`)
          .toString('base64')
          .slice(4, 20),
      ),
    )
  assert.deepEqual(rig.log[2]?.content, [{ type: 'text', text: 'Your key is [secret], is it not?' }])
  assert.deepEqual(rig.refs.runtime_state, { kept: key })
})

test('content without the whole key is unchanged, also where it has a part of the key', async () => {
  const batches: readonly Batch[] = [
    [
      looseEvent({
        type: 'agent.message',
        content: [{ type: 'text', text: `A key begins with ${key.slice(0, -1)}` }],
        n: null,
      }),
    ],
    { events: [idle({ type: 'end_turn' })], refs: {} },
  ]
  const seen = await Array.fromAsync(
    withoutSecrets(saying(batches), secrets)(sessionWith(), promptOf('Hi'), {} as RunContext),
  )
  assert.ok(seen.every((batch, at) => batch === batches[at]))
  for (const apiKey of [undefined, 'A key b']) {
    const run = withoutSecrets(saying(batches), { ...secrets, endpoint: { apiKey } })
    assert.equal((await Array.fromAsync(run(sessionWith(), promptOf('Hi'), {} as RunContext)))[0], batches[0])
  }
})

for (const size of [1, 2, 7, 1_000]) {
  test(`S18: previews in pieces of ${size} hide the key and show all other text, except an end that may start the key`, async () => {
    const text = `The key sk-can is not ${key}, nor ${key}. sk-c`
    const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
      text.slice(at * size, (at + 1) * size),
    )
    const rig = runRig()
    await rig.run({ run: withoutSecrets(saying([[idle({ type: 'end_turn' })]], pieces), secrets) }, promptOf('Hi'))
    const shown = rig.previews.map(preview => preview.text)
    assert.equal(shown.join(''), 'The key sk-can is not [secret], nor [secret]. ')
    assert.ok(shown.every(piece => piece !== ''))
  })
}

test('S40: the log of a run on a remote runtime does not contain its key', async t => {
  const { fake, kind, rig } = await managedAgentsStage(t, {
    apiKey: 'sk-canary-0123',
    script: () => [
      { use: 'bash', input: { command: 'env' }, result: 'KEY=sk-canary-0123' },
      { say: 'It is sk-canary-0123.', pieces: ['It is sk-', 'canary-', '0123.'] },
    ],
  })
  const runtime = createRuntimeCache(secrets).get(kind, { id: 'cma', apiBase: fake.url, apiKey: fake.apiKey })
  await rig.run(runtime, promptOf('Which key?'))
  assert.doesNotMatch(JSON.stringify([rig.log, rig.previews]), /canary/)
  assert.match(JSON.stringify(rig.log), /KEY=\[secret\].*It is \[secret\]\./)
  assert.equal(rig.previews.map(({ text }) => text).join(''), 'It is [secret].')
})

test('M8: previews show the whole text once its event is stored, also an end that might start a credential', async () => {
  const rig = runRig()
  const event = looseEvent({ id: 'evt_1', type: 'agent.message', content: [{ type: 'text', text: 'It is sk-c' }] })
  const run = withoutSecrets(saying([[event, idle({ type: 'end_turn' })]], ['It is ', 'sk-c']), secrets)
  await rig.run({ run }, promptOf('Hi'))
  assert.equal(rig.previews.map(({ text }) => text).join(''), 'It is sk-c')
})

test('M8: events of a program do not contain the credentials of the models that it calls', async () => {
  const rig = runRig()
  const models = () => wholeEchoes(['sk-model-canary-0001'])
  const text = Buffer.from('Bearer sk-model-canary-0001').toString('base64')
  const event = looseEvent({ type: 'agent.message', content: [{ type: 'text', text }] })
  await rig.run({ run: withoutSecrets(saying([[event]]), { endpoint: { apiKey: undefined }, models }) }, promptOf('Hi'))
  assert.match(JSON.stringify(rig.log), /\[secret\]/)
})

const variables = {
  FORGE: 'canary-0123-abcd',
  DB_PASSWORD: 'correcthorse',
  NODE_ENV: 'production',
  CACHE: '/var/cache/agent',
  REGISTRY: 'https://registry.example.com/npm',
  SHORT: '32000',
}
const programSecrets = { endpoint: { apiKey: undefined, env: variables }, models: () => wholeEchoes([]) }

test('M8: events of a program do not contain the values of its variables, except plain settings and short values', async () => {
  const rig = runRig()
  const text = Object.entries(variables).map(pair => pair.join('='))
  const event = looseEvent({ type: 'agent.tool_result', content: [{ type: 'text', text: text.join('\n') }] })
  await rig.run({ run: withoutSecrets(saying([[event]]), programSecrets) }, promptOf('Hi'))
  const shown = ['FORGE=[secret]', 'DB_PASSWORD=[secret]', ...text.slice(2)].join('\n')
  assert.deepEqual(rig.log.at(-1)?.content, [{ type: 'text', text: shown }])
})

test('M8: failure messages do not contain the values of variables, also where the message ends in the middle of one', async () => {
  const failing = async (message: string) => {
    const details = { status: 500, code: 'x' }
    const run = withoutSecrets(async function* () {
      yield []
      throw new RuntimeFailure('unknown_error', message, details)
    }, programSecrets)
    return await Array.fromAsync(run(sessionWith(), promptOf('Hi'), {} as RunContext)).catch(
      (error: unknown) => error as RuntimeFailure,
    )
  }
  for (const message of ['login with canary-0123-abcd', 'login with canary-01']) {
    const error = await failing(message)
    assert.ok(error instanceof RuntimeFailure)
    assert.deepEqual([error.message, error.status, error.code], ['login with [secret]', 500, 'x'])
  }
})
