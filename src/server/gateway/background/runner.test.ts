import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { freshDatabase } from '../../../../test/support/service/database.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { createRowCipher } from '../../db/encrypted-rows.ts'
import { createKeyring } from '../../platform/encryption.ts'
import { createLog } from '../../platform/log.ts'
import type { Call, Outcome, Sink } from '../core/call.ts'
import { unsentOutcome } from '../core/endings.ts'
import { createEnding } from './ending.ts'
import { encryptEvents } from './event-writer.ts'
import { framesFrom } from './events.ts'
import { encryptRequest } from './request.ts'
import { createRunBackground } from './run.ts'
import { createBackgroundRunner } from './runner.ts'
import { backgroundStore } from './store.ts'

const { pool } = await freshDatabase()
const store = backgroundStore(pool)
const keyring = createKeyring([Buffer.alloc(32, 1)])
const ciphers = {
  requests: createRowCipher(keyring, 'background_responses'),
  events: createRowCipher(keyring, 'background_events'),
  contents: createRowCipher(keyring, 'response_contents'),
}
const ending = createEnding({ store, ciphers })
const log = createLog('silent')
const patience = { withinMs: 60_000 }

/** Queues a response; gateways of the test answer by its model. */
async function queued(model: string, isStream: boolean) {
  const id = `resp_${randomBytes(16).toString('hex')}`
  const name = { principal: 'master', id }
  const request = encryptRequest(ciphers.requests, name, {
    body: Buffer.from(JSON.stringify({ model, input: 'x', stream: isStream })),
    headers: {},
  })
  const response = { id, object: 'response', created_at: 1, status: 'queued', output: [] }
  const beginning = [
    { type: 'response.created', response },
    { type: 'response.queued', response },
  ]
  const events = encryptEvents(ciphers.events, name, { frames: framesFrom(beginning, 0), first: 0, last: 1 })
  await store.create({ ...name, apiKeyId: null, previousId: null, isStream, request, events }, 100)
  return name
}

type Answer = (call: Call, sink: Sink, model: string) => Promise<Outcome>

/** A replica whose gateway answers with `answer`. */
function replica(owner: string, answer: Answer) {
  const gateway = { call: (call: Call, sink: Sink) => answer(call, sink, JSON.parse(call.body.toString()).model) }
  const keys = {
    workerById: async () => undefined,
    watch: () => ({ signal: new AbortController().signal, close: () => undefined }),
  }
  const preparation = { prepare: async (call: Call) => ({ own: call, ready: call }) }
  return createBackgroundRunner({
    store,
    run: createRunBackground({ store, ending, ciphers, gateway, preparation, keys, log }),
    notifications: { on: () => undefined, onReconnect: () => undefined },
    owner,
    maxRunning: () => 10,
    log,
  })
}

const isOpen = (status: string) => status === 'queued' || status === 'in_progress'
const frame = (event: object) => Buffer.from(`data: ${JSON.stringify(event)}\n\n`)

test('responses of a replica that stops run again on another one, unless a reader may have a part of the answer', async () => {
  const [whole, silent, shown] = [
    await queued('whole', false),
    await queued('silent', true),
    await queued('shown', true),
  ]
  const begun: string[] = []
  const stopping = replica('one', async (call, sink, model) => {
    call.onAdmitted?.()
    begun.push(model)
    sink.head(200, { 'content-type': 'text/event-stream' })
    if (model === 'shown') sink.data(frame({ type: 'response.output_text.delta', delta: 'One' }))
    await new Promise<void>(resolve => call.signal.addEventListener('abort', () => resolve(), { once: true }))
    return { ...unsentOutcome, outcome: 'aborted' }
  })
  stopping.start()
  await eventually(() => begun.length === 3, patience)
  await eventually(async () => (await store.find(shown))?.next_event === 4, patience)
  await stopping.drain(0)
  await stopping.stop()
  const statuses = async () =>
    Promise.all([whole, silent, shown].map(async name => (await store.find(name))?.status ?? 'missing'))
  assert.deepEqual((await statuses()).map(isOpen), [true, true, false])

  const again: string[] = []
  const other = replica('two', async (_call, sink, model) => {
    again.push(model)
    const response = { id: 'resp_upstream', status: 'completed', output: [] }
    if (model === 'silent') {
      sink.head(200, { 'content-type': 'text/event-stream' })
      sink.end(frame({ type: 'response.completed', response }))
    } else {
      sink.head(200, { 'content-type': 'application/json' })
      sink.end(Buffer.from(JSON.stringify(response)))
    }
    return { ...unsentOutcome, outcome: 'completed', status: 200 }
  })
  other.start()
  await eventually(async () => !(await statuses()).some(isOpen), patience)
  await other.drain(0)
  await other.stop()
  assert.deepEqual(await statuses(), ['completed', 'completed', 'failed'])
  assert.deepEqual(again.toSorted(), ['silent', 'whole'])
})

test('an answer whose id cannot be stored ends its response, and is not called for again', async () => {
  const name = await queued('odd', false)
  let calls = 0
  const runner = replica('odd', async (call, sink) => {
    calls++
    call.onAdmitted?.()
    sink.head(200, { 'content-type': 'application/json', 'x-switchyard-deployment': 'd' })
    sink.end(Buffer.from(JSON.stringify({ id: 'resp_\0', status: 'completed', output: [] })))
    return { ...unsentOutcome, outcome: 'completed' }
  })
  runner.start()
  await eventually(async () => !isOpen((await store.find(name))?.status ?? ''), patience)
  assert.deepEqual([(await store.find(name))?.status, calls], ['completed', 1])
  await runner.stop()
})
