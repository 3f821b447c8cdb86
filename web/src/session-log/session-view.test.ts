import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { NewEvent } from '../../../src/contract/events.ts'
import { anyLog } from './any-log-for-tests.ts'
import { addDelta, type Delta, liveTexts } from './deltas.ts'
import {
  answered,
  begun,
  called,
  ended,
  logOf,
  prompted,
  recordedLog,
  replied,
  returned,
  running,
} from './logs-for-tests.ts'
import { type Row, rowsOf } from './rows.ts'
import { append, createView, prepend } from './session-view.ts'
import type { View } from './view.ts'

/** What the viewer shows, without the storage behind it. */
const shown = ({ log: _log, bookmarks: _bookmarks, live: _live, ...rest }: View) => rest

const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 12 })

/** Cuts a list into parts whose sizes repeat. */
function partsOf<Value>(list: readonly Value[], lengths: readonly number[]): Value[][] {
  const parts: Value[][] = []
  for (let at = 0; at < list.length; ) {
    const length = lengths[parts.length % lengths.length] ?? 1
    parts.push(list.slice(at, at + length))
    at += length
  }
  return parts
}

test('every split of a log into batches gives the same view, and so do repeated batches', () => {
  fc.assert(
    fc.property(anyLog, sizes, fc.integer({ min: 0, max: 20 }), (log, lengths, overlap) => {
      let view = createView()
      for (const part of partsOf(log, lengths)) {
        const first = part[0]?.seq ?? 1
        view = append(view, log.slice(Math.max(0, first - 1 - overlap), first - 1 + part.length))
        view = append(view, part)
      }
      assert.deepEqual(shown(view), shown(createView(log)))
    }),
  )
})

test('the view of the last page with older pages before it is the view of the whole log', () => {
  fc.assert(
    fc.property(anyLog, sizes, fc.integer({ min: 0, max: 5 }), (log, lengths, overlap) => {
      const pages = partsOf(log, lengths).toReversed()
      let view = createView(pages[0])
      for (const page of pages.slice(1)) {
        const last = page.at(-1)?.seq ?? 0
        view = prepend(view, log.slice((page[0]?.seq ?? 1) - 1, last + overlap))
      }
      assert.deepEqual(shown(view), shown(createView(log)))
    }),
  )
})

test('each event has exactly one row or waits in the queue, and each row has its own key, in every window', () => {
  fc.assert(
    fc.property(anyLog, fc.nat(), (log, cut) => {
      const start = cut % log.length
      const view = createView(log.slice(start))
      const rows = rowsOf(view)
      const ids = [...rows.flatMap(row => row.eventIds), ...view.waiting.map(({ eventId }) => eventId)]
      assert.deepEqual(
        ids.toSorted(),
        view.log
          .toArray()
          .map(({ id }) => id)
          .toSorted(),
      )
      assert.equal(new Set(rows.map(({ key }) => key)).size, rows.length)
    }),
  )
})

const delta = (event_id: string, text: string): Delta => ({
  type: 'event_delta',
  event_id,
  delta: { type: 'content_delta', content: { type: 'text', text } },
})

test('deltas that are lost, doubled or late change nothing but the live text', () => {
  const pieces = fc.array(fc.tuple(fc.nat(), fc.nat(), fc.string()), { maxLength: 30 })
  fc.assert(
    fc.property(anyLog, pieces, (log, all) => {
      let view = createView()
      const texts = log.filter(({ type }) => type === 'agent.message')
      for (const event of log) {
        for (const [at, which, text] of all) {
          const target = texts[which % (texts.length + 1)]?.id ?? 'evt_never'
          if (at % log.length === event.seq - 1) view = addDelta(view, delta(target, text))
        }
        view = append(view, [event])
      }
      const whole = createView(log)
      assert.deepEqual(shown(view), shown(whole))
      for (const { eventId } of view.live) assert.ok(!view.log.has(eventId))
      if (!view.run) assert.deepEqual(rowsOf(view), rowsOf(whole))
    }),
  )
})

test('a live text is replaced by its event under the same key', () => {
  const log = logOf(prompted('p1'), running('p1'), begun('s1', ['p1']), replied('m1', 'Hello there'), answered('s1'))
  let view = createView(log.slice(0, 3))
  view = addDelta(view, { type: 'event_start', event: { id: 'm1', type: 'agent.message' } })
  view = addDelta(addDelta(view, delta('m1', 'Hel')), delta('m1', 'lo'))
  assert.deepEqual(liveTexts(view), [{ eventId: 'm1', text: 'Hello' }])
  const live = rowsOf(view).at(-1)
  view = append(view, log.slice(3, 4))
  assert.deepEqual(liveTexts(view), [])
  assert.equal(rowsOf(view).at(-1)?.key, live?.key)
  assert.equal(addDelta(view, delta('m1', 'late')), view)
})

test('a live text of a failed try ends with its request', () => {
  const log = logOf(prompted('p1'), running('p1'), begun('s1', ['p1']), {
    ...answered('s1'),
    is_error: true,
  } as NewEvent)
  const view = addDelta(createView(log.slice(0, 3)), delta('m1', 'Hel'))
  assert.deepEqual(liveTexts(append(view, log.slice(3))), [])
})

test('an event changes only its own path: earlier views, turns, groups and rows stay the same objects', () => {
  const turn = (n: number): NewEvent[] => {
    const [p, s, c] = [`p${n}`, `s${n}`, `c${n}`]
    return [
      prompted(p),
      running(p),
      begun(s, [p]),
      called(c),
      answered(s),
      returned(c),
      begun(`${s}b`),
      replied(`m${n}`),
      answered(`${s}b`),
      ended(p),
    ]
  }
  const log = logOf(...turn(1), ...turn(2))
  const before = createView(log.slice(0, 15))
  const copy = structuredClone(before.turns)
  const after = append(before, log.slice(15))
  assert.deepEqual(before.turns, copy)
  assert.equal(after.turns[0], before.turns[0])
  const open = (view: View) => view.turns[1]?.groups[0]
  assert.notEqual(open(after), open(before))
  const rows = new Set<Row>(rowsOf(before))
  assert.ok(
    rowsOf(after)
      .slice(0, 6)
      .every(row => rows.has(row)),
  )
  const paged = prepend(createView(log.slice(10)), log.slice(0, 10))
  assert.equal(paged.turns.length, 2)
})

test('turns stay the same objects when an older page comes before them', () => {
  const log = recordedLog('repository')
  const view = createView(log.slice(24))
  const whole = prepend(view, log.slice(0, 24))
  const last = view.turns.at(-1)
  assert.ok(last)
  assert.ok(whole.turns.at(-1) === last || whole.turns.at(-1)?.groups.at(-1) === last.groups.at(-1))
})

test('a gap is reported, what follows it is left out, and the missing events close it', () => {
  const log = recordedLog('approval')
  const view = append(createView(log.slice(0, 4)), log.slice(6))
  assert.deepEqual(view.gap, { from: 5, to: 6 })
  assert.equal(view.log.lastSeq, 4)
  const closed = append(view, log.slice(2))
  assert.equal(closed.gap, undefined)
  assert.deepEqual(shown(closed), shown(createView(log)))
  assert.deepEqual(prepend(createView(log.slice(8)), log.slice(0, 5)).gap, { from: 6, to: 8 })
})

test('10,000 events that arrive one by one cost no copy of the whole', () => {
  const step = (n: number): NewEvent[] => [
    begun(`s${n}`),
    called(`c${n}`),
    replied(`m${n}`),
    answered(`s${n}`),
    returned(`c${n}`),
  ]
  const log = logOf(prompted('p1'), running('p1'), ...Array.from({ length: 2_000 }, (_, n) => step(n)).flat())
  let view = createView()
  for (const event of log) view = append(view, [event])
  assert.equal(rowsOf(view).length, 1 + 3 * 2_000)
  assert.deepEqual(shown(view), shown(createView(log)))
})
