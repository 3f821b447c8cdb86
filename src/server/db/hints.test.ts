import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { freshDatabase } from '../../../test/support/service/database.ts'
import { transaction } from './connect.ts'
import { createHintBatches } from './hint-batches.ts'
import { hint, sendHintsBy } from './hints.ts'

const { pool } = await freshDatabase()
const sent: string[] = []
sendHintsBy(pool, (channel, payload) => void sent.push(`${channel} ${payload}`))

test('hints of a transaction are sent after its commit, and dropped after a failure', async () => {
  await transaction(pool, async client => {
    hint(client, 'news', 'kept')
    assert.deepEqual(sent, [])
  })
  assert.deepEqual(sent.splice(0), ['news kept'])
  const failing = transaction(pool, async client => {
    hint(client, 'news', 'of nothing')
    throw new Error('no')
  })
  await assert.rejects(failing, /no/)
  const ignoring = transaction(pool, async client => {
    hint(client, 'news', 'of nothing')
    await client.query('select 1 / 0').catch(() => undefined)
  })
  await assert.rejects(ignoring, /rolled back/)
  await transaction(pool, async () => undefined)
  hint(pool, 'news', 'at once')
  assert.deepEqual(sent, ['news at once'])
})

function batches(hasPeers = true) {
  const heard: string[] = []
  const statements: (readonly string[])[] = []
  let finish = (): void => undefined
  const { send, split } = createHintBatches({
    deliver: (channel, payload) => void heard.push(`${channel} ${payload}`),
    hasPeers: () => hasPeers,
    notify: (channels, payloads) => {
      statements.push(payloads.flatMap((payload, at) => split(payload).map(one => `${channels[at]} ${one}`)))
      return new Promise(done => {
        finish = done
      })
    },
  })
  return { send, heard, statements, finish: () => finish() }
}

test('hints of a turn are one statement, those during it the next; equal hints are sent once', async () => {
  const { send, heard, statements, finish } = batches()
  for (const payload of ['1', '2', '1']) send('a', payload)
  send('b', '1')
  assert.deepEqual(heard, [], 'whoever sends a hint goes on first')
  await nextTurn()
  assert.deepEqual(statements, [['a 1', 'a 2', 'b 1']])
  for (const payload of ['3', '4']) {
    send('a', payload)
    await nextTurn()
  }
  assert.equal(statements.length, 1)
  finish()
  await nextTurn()
  assert.deepEqual(statements.slice(1), [['a 3', 'a 4']])
  assert.deepEqual(heard, ['a 1', 'a 2', 'a 1', 'b 1', 'a 3', 'a 4'])
})

test('a notification contains as many hints as fit, and oversized hints are dropped', async () => {
  const sizes: number[] = []
  const texts: string[] = []
  const { send, split } = createHintBatches({
    deliver: () => undefined,
    hasPeers: () => true,
    async notify(_channels, payloads) {
      sizes.push(...payloads.map(payload => Buffer.byteLength(payload)))
      texts.push(...payloads.flatMap(payload => split(payload)))
    },
  })
  const given = Array.from({ length: 500 }, (_, at) => `ü${at}`.padEnd(90, '.'))
  for (const payload of [...given, 'x'.repeat(8_000)]) send('a', payload)
  await nextTurn()
  assert.deepEqual(texts, given)
  assert.ok(sizes.length <= 7 && sizes.every(size => size < 8_000), String(sizes))
})

test('a process without peers sends no notifications and receives its own hints', async () => {
  const { send, heard, statements } = batches(false)
  send('a', '1')
  await nextTurn()
  assert.deepEqual([heard, statements], [['a 1'], []])
})
