import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { A2aStep } from '../../../../test/support/a2a/a2a-fake-task.ts'
import { errorOf, startA2aRig } from '../../../../test/support/a2a/a2a-rig.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { messagesIn } from '../../../../test/support/sessions/event-text.ts'
import { promptOf, runRig } from '../../../../test/support/sessions/run-rig.ts'

const variants = [
  { binding: 'JSONRPC', isStreaming: true },
  { binding: 'HTTP+JSON', isStreaming: false },
] as const
type Variant = (typeof variants)[number]

const script = (text: string): readonly A2aStep[] =>
  text.startsWith('Book')
    ? [{ status: 'Looking.' }, { ask: 'Which day?' }, { artifact: ['Booked ', 'it.'] }]
    : [{ status: 'Thinking.' }, { artifact: ['One ', 'two.'] }, { artifact: ['Three.'], id: 'second' }]

/** Runs three prompts of two tasks, and interrupts a run at write number `cut`; returns the number of writes and what was said. */
async function runCutOff(variant: Variant, cut: number) {
  const { fake, runtime } = await startA2aRig({ ...variant, script })
  const rig = runRig()
  let stored = 0
  const isCrash = () => stored++ === cut
  const onRemember = () => {
    if (isCrash()) throw new Error('the process is gone')
  }
  const prompts = ['Count', 'Book', 'Monday'].map(text => promptOf(text))
  for (const [at, prompt] of prompts.entries()) {
    const isOver = () => rig.types().filter(type => type === 'session.status_idle').length > at
    for (let rounds = 0; rounds === 0 || !isOver(); rounds++) {
      assert.ok(rounds < 4, `a run that was interrupted once continues to its end: ${JSON.stringify(rig.log.at(-1))}`)
      const running = rig.run(runtime, prompt, { isResumed: rounds > 0, onBatch: isCrash, onRemember })
      await running.catch((error: Error) => assert.match(error.message, /the process is gone/))
    }
  }
  await fake.stop()
  const received = fake.tasks.flatMap(({ history }) => history).filter(({ role }) => role === 'ROLE_USER')
  return { stored, texts: messagesIn(rig.log), tasks: fake.tasks.length, received: received.length }
}

for (const variant of variants) {
  test(`${variant.binding}: a crash at any write sends no prompt twice and loses no text`, async () => {
    const whole = await runCutOff(variant, -1)
    assert.ok(whole.stored >= 9, `${whole.stored} things are stored`)
    assert.deepEqual([whole.tasks, whole.received], [2, 3])
    for (let cut = 0; cut < whole.stored; cut++) {
      const { texts, tasks, received } = await runCutOff(variant, cut)
      assert.deepEqual([tasks, received], [2, 3], `cut off at ${cut}`)
      assert.deepEqual(texts.toSorted(), whole.texts.toSorted(), `cut off at ${cut}`)
    }
  })
}

const sends = [
  { name: 'SendStreamingMessage', isStreaming: true },
  { name: 'SendMessage', isStreaming: false },
] as const

for (const { name, isStreaming } of sends) {
  for (const how of ['break-before', 'break-after'] as const) {
    test(`${name}: an answer that is lost (${how}) makes no second task`, async t => {
      const { fake, runtime } = await startA2aRig({ isStreaming, script })
      t.after(fake.stop)
      fake.fail(name, how)
      const rig = runRig()
      await rig.run(runtime, promptOf('Count'))
      fake.fail(name, how)
      await rig.run(runtime, promptOf('Count'))
      assert.equal(fake.tasks.length, 2)
      assert.equal(rig.types().filter(type => type === 'session.status_idle').length, 2)
      const ids = fake.messages.map(({ messageId }) => messageId)
      assert.equal(new Set(ids).size, 2, 'a repeated message has the same id')
    })
  }
}

test('a lost answer to the answer of a question is found in the task', async t => {
  const { fake, runtime } = await startA2aRig({ script })
  t.after(fake.stop)
  const rig = runRig()
  await rig.run(runtime, promptOf('Book'))
  fake.fail('SendStreamingMessage', 'break-after')
  await rig.run(runtime, promptOf('Monday'))
  assert.deepEqual(messagesIn(rig.log), ['Looking.', 'Which day?', 'Booked it.'])
  assert.equal(fake.messages.length, 2)
})

test('without a list of tasks a lost answer ends the run, and nothing is sent again', async t => {
  const { fake, runtime } = await startA2aRig({ script, listsTasks: false })
  t.after(fake.stop)
  fake.fail('SendStreamingMessage', 'break-after')
  const rig = runRig()
  await rig.run(runtime, promptOf('Count'))
  assert.match(errorOf(rig.log.at(-1)), /unknown whether the agent received it: the agent cannot list its tasks/)
  assert.equal(fake.messages.length, 1)
})

test('an agent that makes no tasks gets no message again after a lost answer', async t => {
  const { fake, runtime } = await startA2aRig({ script: () => 'Pong.' })
  t.after(fake.stop)
  const rig = runRig()
  await rig.run(runtime, promptOf('Ping'))
  fake.fail('SendStreamingMessage', 'break-after')
  await rig.run(runtime, promptOf('Ping'))
  assert.match(errorOf(rig.log.at(-1)), /unknown whether the agent received it: the agent makes no tasks/)
  assert.equal(fake.messages.length, 2)
})

test('a stream that breaks is opened again, and every text is logged once', async t => {
  const { fake, runtime } = await startA2aRig({
    script: () => [
      { artifact: ['One '], id: 'a' },
      { cut: true },
      { status: 'Two' },
      { hold: true },
      { artifact: ['Three'], id: 'b' },
    ],
  })
  t.after(fake.stop)
  const rig = runRig()
  const running = rig.run(runtime, promptOf('Go'))
  await eventually(() => fake.count('SubscribeToTask') > 0)
  fake.tasks[0]?.release()
  await running
  assert.deepEqual(messagesIn(rig.log), ['One ', 'Two', 'Three'])
})

test('a process that hands over leaves the task to the next one', async t => {
  const { fake, runtime } = await startA2aRig({ script: () => [{ status: 'One' }, { hold: true }, { status: 'Two' }] })
  t.after(fake.stop)
  const rig = runRig()
  const prompt = promptOf('Go')
  const handover = new AbortController()
  const isDraining = () => handover.signal.aborted
  const running = rig.run(runtime, prompt, { signal: handover.signal, isDraining })
  await eventually(() => messagesIn(rig.log).length === 1)
  handover.abort()
  await running
  assert.equal(fake.tasks[0]?.state, 'WORKING')
  fake.tasks[0]?.release()
  await rig.run(runtime, prompt, { isResumed: true })
  assert.deepEqual(messagesIn(rig.log), ['One', 'Two'])
  assert.equal(fake.messages.length, 1)
})

test('a task that an interrupt could not cancel is cancelled before the next prompt', async t => {
  const { fake, runtime } = await startA2aRig({
    script: text => (text === 'Long' ? [{ status: 'Working.' }, { hold: true }] : [{ artifact: ['Short.'] }]),
  })
  t.after(fake.stop)
  const rig = runRig()
  const stop = new AbortController()
  const running = rig.run(runtime, promptOf('Long'), { signal: stop.signal })
  await eventually(() => messagesIn(rig.log).length === 1)
  fake.fail('CancelTask', 500)
  stop.abort()
  await running
  assert.equal(fake.tasks[0]?.state, 'WORKING')
  await rig.run(runtime, promptOf('Short'))
  assert.equal(fake.tasks[0]?.state, 'CANCELED')
  assert.deepEqual(messagesIn(rig.log), ['Working.', 'Short.'])
})

test('a message that an interrupt met while it was sent is found, and its task cancelled', async t => {
  const { fake, runtime } = await startA2aRig({ isStreaming: false, script: () => [{ hold: true }] })
  t.after(fake.stop)
  const stop = new AbortController()
  const rig = runRig()
  const running = rig.run(runtime, promptOf('Go'), {
    signal: stop.signal,
    onRemember: ({ provider_run_id }) => provider_run_id !== undefined && stop.abort(),
  })
  await running
  assert.equal(fake.tasks[0]?.state, 'CANCELED')
})
