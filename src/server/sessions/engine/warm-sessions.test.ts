import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WarmSessions } from './warm-sessions.ts'

const minuteMs = 60_000
const session = (at: number) => ({ sessionId: `ses_${at}` })

test('a session is overdue after 10 minutes', () => {
  const warm = new WarmSessions()
  warm.add(session(1), 0)
  warm.add(session(2), 5 * minuteMs)
  assert.deepEqual(warm.overdue(9.9 * minuteMs), [])
  assert.deepEqual(warm.overdue(10 * minuteMs), [session(1)])
  warm.remove('ses_1')
  assert.deepEqual([warm.overdue(10 * minuteMs), warm.get('ses_1'), warm.get('ses_2')], [[], undefined, session(2)])
})

test('the oldest sessions above 50 are overdue', () => {
  const warm = new WarmSessions()
  for (let at = 0; at < 53; at++) warm.add(session(at), at)
  assert.deepEqual(warm.overdue(100), [session(0), session(1), session(2)])
})
