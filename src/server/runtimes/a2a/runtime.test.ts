import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { A2aStep } from '../../../../test/support/a2a/a2a-fake-task.ts'
import { errorOf, startA2aRig } from '../../../../test/support/a2a/a2a-rig.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { messagesIn } from '../../../../test/support/sessions/event-text.ts'
import { promptOf, runRig, sessionWith } from '../../../../test/support/sessions/run-rig.ts'

const variants = [
  { binding: 'JSONRPC', isStreaming: true },
  { binding: 'HTTP+JSON', isStreaming: true },
  { binding: 'JSONRPC', isStreaming: false },
  { binding: 'HTTP+JSON', isStreaming: false },
] as const

const answer: readonly A2aStep[] = [
  { status: 'Looking.' },
  { artifact: ['The sea ', 'is wide.'] },
  {
    parts: [{ data: { depth: 3 } }, { url: 'https://example.com/a.png', filename: 'a.png', mediaType: 'image/png' }],
    id: 'facts',
  },
  { end: 'COMPLETED', text: 'The sea is wide.' },
]

for (const variant of variants) {
  const name = `${variant.binding}, ${variant.isStreaming ? 'streamed' : 'polled'}`

  test(`${name}: a prompt is a task, its status messages and artifacts are messages, each once`, async t => {
    const { fake, runtime } = await startA2aRig({ ...variant, script: () => answer })
    t.after(fake.stop)
    const rig = runRig(sessionWith({ system: 'Be terse.' }))
    await rig.run(runtime, promptOf('What is the sea?'))
    const texts = messagesIn(rig.log)
    assert.deepEqual(
      texts.toSorted(),
      ['Looking.', 'The sea is wide.', '{"depth":3}\n[file a.png (image/png): https://example.com/a.png]'].toSorted(),
    )
    assert.equal(rig.types().at(-1), 'session.status_idle')
    assert.deepEqual(
      fake.messages.map(message => message['parts']),
      [[{ text: 'Be terse.\n\nWhat is the sea?' }]],
    )
    assert.equal(rig.refs.provider_run_id, fake.tasks[0]?.id)
    assert.equal(rig.refs.provider_session_id, fake.tasks[0]?.contextId)
    assert.ok(fake.calls.every(({ headers }) => headers['a2a-version'] === '1.0'))
  })

  test(`${name}: the next prompt continues the context, and answers a question in its task`, async t => {
    const { fake, runtime } = await startA2aRig({
      ...variant,
      script: text =>
        text === 'Book' ? [{ ask: 'Which day?' }, { artifact: ['Booked.'] }] : [{ artifact: ['Hello.'] }],
    })
    t.after(fake.stop)
    const rig = runRig()
    for (const text of ['Hi', 'Book', 'Monday', 'Hi']) await rig.run(runtime, promptOf(text))
    assert.deepEqual(messagesIn(rig.log), ['Hello.', 'Which day?', 'Booked.', 'Hello.'])
    assert.equal(fake.tasks.length, 3)
    assert.equal(new Set(fake.tasks.map(({ contextId }) => contextId)).size, 1)
    assert.deepEqual(
      fake.messages.map(({ taskId }) => taskId),
      [undefined, undefined, fake.tasks[1]?.id, undefined],
    )
    const ends = rig.log.filter(({ type }) => type === 'session.status_idle')
    assert.deepEqual(
      ends.map(({ stop_details }) => stop_details?.type),
      [undefined, 'input_required', undefined, undefined],
    )
  })

  test(`${name}: an answer without a task is the end of the run`, async t => {
    const { fake, runtime } = await startA2aRig({ ...variant, script: () => 'Pong.' })
    t.after(fake.stop)
    const rig = runRig()
    await rig.run(runtime, promptOf('Ping'))
    await rig.run(runtime, promptOf('Ping'))
    assert.deepEqual(messagesIn(rig.log), ['Pong.', 'Pong.'])
    assert.equal(fake.count('GetTask'), 0)
  })

  test(`${name}: an interrupt cancels the task and keeps what it has sent`, async t => {
    const { fake, runtime } = await startA2aRig({
      ...variant,
      script: text => (text === 'Long' ? [{ status: 'Working.' }, { hold: true }] : [{ artifact: ['Short.'] }]),
    })
    t.after(fake.stop)
    const rig = runRig()
    const stop = new AbortController()
    const running = rig.run(runtime, promptOf('Long'), { signal: stop.signal })
    await eventually(() => messagesIn(rig.log).includes('Working.'))
    stop.abort()
    await running
    assert.equal(fake.tasks[0]?.state, 'CANCELED')
    await rig.run(runtime, promptOf('Short'))
    assert.deepEqual(messagesIn(rig.log), ['Working.', 'Short.'])
  })

  for (const [end, text] of [
    ['FAILED', 'the agent failed: no money'],
    ['REJECTED', 'the agent rejected the task: no money'],
    ['CANCELED', 'the agent canceled the task: no money'],
  ] as const) {
    test(`${name}: a task that ends as ${end} is an error with the words of the agent`, async t => {
      const { fake, runtime } = await startA2aRig({ ...variant, script: () => [{ end, text: 'no money' }] })
      t.after(fake.stop)
      const rig = runRig()
      await rig.run(runtime, promptOf('Go'))
      assert.equal(errorOf(rig.log.at(-1)), text)
    })
  }
}

test('previews add up to the message', async t => {
  const { fake, runtime } = await startA2aRig({ script: () => [{ artifact: ['One ', 'two ', 'three.'] }] })
  t.after(fake.stop)
  const rig = runRig()
  await rig.run(runtime, promptOf('Count'))
  const message = rig.log.find(({ type }) => type === 'agent.message')
  assert.ok(rig.previews.length > 1)
  assert.ok(rig.previews.every(({ eventId }) => eventId === message?.id))
  assert.equal(rig.previews.map(({ text }) => text).join(''), 'One two three.')
})

test('files of a prompt are parts of its message', async t => {
  const { fake, runtime } = await startA2aRig()
  t.after(fake.stop)
  const file = {
    type: 'file',
    name: 'a.txt',
    media_type: 'text/plain',
    size: 19,
    sha256: '0',
    path: 'uploads/0/a.txt',
  } as const
  await runRig().run(runtime, promptOf('Read', { parts: [{ type: 'text', text: 'Read' }, file] }))
  const raw = Buffer.from('content of the file').toString('base64')
  assert.deepEqual(fake.messages[0]?.['parts'], [{ text: 'Read' }, { raw, filename: 'a.txt', mediaType: 'text/plain' }])
})

test('a task that waits for an authorization ends the run, and the next prompt starts another task when it takes no message', async t => {
  const { fake, runtime } = await startA2aRig({
    script: text => (text === 'Pay' ? [{ ask: 'Log in.', state: 'AUTH_REQUIRED' }] : [{ artifact: ['Fine.'] }]),
  })
  t.after(fake.stop)
  const rig = runRig()
  await rig.run(runtime, promptOf('Pay'))
  fake.fail('SendStreamingMessage', -32004)
  await rig.run(runtime, promptOf('Then not'))
  assert.deepEqual(messagesIn(rig.log), ['Log in.', 'Fine.'])
  assert.equal(fake.tasks.length, 2)
})

test('an answer that the agent rejects leaves its question open for the next prompt', async t => {
  const { fake, runtime } = await startA2aRig({ script: () => [{ ask: 'Which day?' }, { artifact: ['Booked.'] }] })
  t.after(fake.stop)
  const rig = runRig()
  await rig.run(runtime, promptOf('Book'))
  fake.fail('SendStreamingMessage', -32602)
  await rig.run(runtime, promptOf('Someday'))
  assert.match(errorOf(rig.log.at(-1)), /the agent rejected the request: The fake says -32602/)
  await rig.run(runtime, promptOf('Monday'))
  assert.deepEqual(messagesIn(rig.log), ['Which day?', 'Booked.'])
  assert.equal(fake.tasks.length, 1)
})

test('the memories of the agent and its system prompt go with the first prompt only', async t => {
  const { fake, runtime } = await startA2aRig({ memories: 'Ada likes tea.' })
  t.after(fake.stop)
  const rig = runRig(sessionWith({ system: 'Be terse.' }))
  await rig.run(runtime, promptOf('One'))
  await rig.run(runtime, promptOf('Two'))
  assert.deepEqual(
    fake.messages.map(message => message['parts']),
    [[{ text: 'Be terse.\n\nAda likes tea.\n\nOne' }], [{ text: 'Two' }]],
  )
})

test('a deleted session cancels its unfinished task', async t => {
  const { fake, runtime } = await startA2aRig({ script: () => [{ status: 'Working.' }, { hold: true }] })
  t.after(fake.stop)
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'), { onBatch: () => true })
  await runtime.dispose({ id: rig.session.id, refs: rig.refs })
  assert.equal(fake.tasks[0]?.state, 'CANCELED')
  await fake.stop()
  await runtime.dispose({ id: rig.session.id, refs: rig.refs })
})

test('a request that has passed five agents is rejected, so that a loop ends', async t => {
  const { fake, runtime } = await startA2aRig()
  t.after(fake.stop)
  const rig = runRig()
  await rig.run(runtime, promptOf('Go', { message_id: 'switchyard-4-msg_1' }))
  assert.match(String(fake.messages[0]?.['messageId']), /^switchyard-5-msg_/)
  await rig.run(runtime, promptOf('Go', { message_id: 'switchyard-5-msg_1' }))
  assert.match(errorOf(rig.log.at(-1)), /agents that call each other form a loop/)
  assert.equal(fake.messages.length, 1)
})
