import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHints } from './hints.ts'

/** Processes that hear each other, and themselves, as on one database. */
function bus() {
  const listeners: [string, (payload: string) => void][] = []
  const sent: string[] = []
  return {
    sent,
    on: (channel: string, listener: (payload: string) => void) => void listeners.push([channel, listener]),
    send(channel: string, payload: string) {
      sent.push(payload)
      for (const [name, listener] of listeners) if (name === channel) listener(payload)
    },
  }
}

function listener(channel: ReturnType<typeof bus>) {
  const heard: unknown[] = []
  const hints = createHints(channel, {
    onCooldown: (...args) => heard.push(args),
    onEnded: id => heard.push(['ended', id]),
    onLoad: (...args) => heard.push(args),
  })
  return { heard, hints }
}

test('hints of a process reach the other processes but not itself', () => {
  const channel = bus()
  const one = listener(channel)
  const other = listener(channel)
  one.hints.cooled('m.1', 30_000.4, 'http_429')
  one.hints.ended('m.3')
  one.hints.loaded([
    ['m.1', 2, 30],
    ['m.2', 1, 0],
  ])
  assert.deepEqual(other.heard, [
    ['m.1', 30_000, 'http_429'],
    ['ended', 'm.3'],
    ['m.1', 2, 30],
    ['m.2', 1, 0],
  ])
  assert.deepEqual(one.heard, [])
})

test('many reports are split to fit into notifications', () => {
  const channel = bus()
  const { hints } = listener(channel)
  hints.loaded(Array.from({ length: 100 }, (_, at) => [`${'x'.repeat(200)}.${at}`, 1_000_000, 1_000_000_000] as const))
  assert.equal(channel.sent.length, 4)
  for (const payload of channel.sent) assert.ok(payload.length < 8_000, `${payload.length} bytes`)
})

test('invalid messages on the channel are ignored', () => {
  const channel = bus()
  const { heard } = listener(channel)
  for (const payload of [
    '',
    '{',
    'null',
    '{"a":1}',
    '[]',
    '["x","m.1",-5,"e"]',
    '["x","m.1","1e9","e"]',
    '["x",5,["m",1]]',
  ])
    for (const name of ['switchyard_cooldown', 'switchyard_load']) channel.send(name, payload)
  assert.deepEqual(heard, [])
})
