import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Bar, Timeline } from '../../../session-log/timeline.ts'
import { scaleOf } from './scale.ts'

const at = (seconds: number) => new Date(seconds * 1000).toISOString()
const bar = (kind: Bar['kind'], from: number, to: number | undefined): Bar => ({
  rowKey: '',
  eventId: '',
  kind,
  label: '',
  from: at(from),
  to: to === undefined ? undefined : at(to),
  isFailed: false,
})
const timeline = (bars: readonly Bar[], to: number): Timeline => ({
  from: at(0),
  to: at(to),
  lanes: [{ key: 'main', label: 'Session', bars, marks: [] }],
})

test('work is proportional to its time', () => {
  const scale = scaleOf(timeline([bar('model', 0, 10), bar('tool', 10, 40)], 40), 0)
  assert.equal(scale(0), 0)
  assert.equal(scale(10_000), 0.25)
  assert.equal(scale(40_000), 1)
})

test('a long pause, also one that waits for a person, takes a small part of the width', () => {
  const scale = scaleOf(
    timeline([bar('model', 0, 10), bar('wait', 10, 50_000), bar('tool', 50_000, 50_010)], 50_010),
    0,
  )
  assert.ok(scale(50_000_000) - scale(10_000) < 0.06)
})

test('open bars reach to now, and places stay in order', () => {
  const scale = scaleOf(timeline([bar('model', 0, 10), bar('tool', 10, undefined)], 12), 30_000)
  assert.equal(scale(30_000), 1)
  const places = [0, 5_000, 10_000, 20_000, 30_000].map(scale)
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  )
})

test('an empty timeline has no width', () => {
  assert.equal(scaleOf({ from: undefined, to: undefined, lanes: [] }, 0)(5), 0)
})
