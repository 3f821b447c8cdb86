import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WebhookCondition } from '../../contract/webhooks.ts'
import { eventOf, reasonToSkip } from './event-filter.ts'
import { payloadOf } from './payload.ts'

const opened = {
  headers: { 'x-github-event': 'issues', 'x-team': 'red' },
  payload: { action: 'opened', sender: { type: 'Bot' }, n: 1, nothing: null },
}

const cases: readonly (readonly [conditions: WebhookCondition[], isIn: boolean])[] = [
  [[], true],
  [['issues'], true],
  [['issues.opened'], true],
  [['push', 'issues.opened'], true],
  [['issues.closed'], false],
  [['issue'], false],
  [[{ header: 'X-Team', in: ['red', 'blue'] }], true],
  [[{ header: 'x-team', not_in: ['red'] }], false],
  [[{ header: 'x-other', exists: false }], true],
  [[{ header: 'x-other' }], false],
  [
    [
      { field: 'action', in: ['opened'] },
      { field: 'sender.type', not_in: ['Bot'] },
    ],
    false,
  ],
  [['issues', { field: 'n', in: [1] }], true],
  [['push', { field: 'n', in: [1] }], false],
  [[{ field: 'n', in: ['1'] }], false],
  [[{ field: 'nothing', in: [null] }], true],
  [[{ field: 'nothing', exists: true }], true],
  [[{ field: 'missing', exists: true }], false],
  [[{ field: 'missing', not_in: ['x'] }], true],
  [[{ field: 'constructor' }], false],
]
for (const [conditions, isIn] of cases) {
  test(`the conditions ${JSON.stringify(conditions)} ${isIn ? 'accept the delivery' : 'skip the delivery'}`, () => {
    assert.equal(reasonToSkip(conditions, opened) === undefined, isIn)
  })
}

test('the reason names the event, header or field', () => {
  assert.match(reasonToSkip(['push'], opened) ?? '', /"issues.opened".*push/)
  assert.match(reasonToSkip([{ field: 'a.b' }], opened) ?? '', /field a[.]b/)
  assert.match(reasonToSkip(['x'], { headers: {}, payload: 1 }) ?? '', /has no name/)
})

test('the event name is read from the headers and fields of each sender', () => {
  const named = (headers: Record<string, string>, payload: unknown) => eventOf({ headers, payload })
  assert.equal(named({ 'x-gitlab-event': 'Issue Hook' }, {}), 'Issue Hook')
  assert.equal(named({}, { type: 'invoice.paid' }), 'invoice.paid')
  assert.equal(named({}, { type: 'Issue', action: 'update' }), 'Issue.update')
  assert.equal(named({}, { event: { type: 'message' } }), undefined)
  assert.equal(named({}, []), undefined)
  assert.equal(named({}, { type: 'x'.repeat(500) })?.length, 200)
})

test('a number with more digits than a double is compared as a double', () => {
  const { value } = payloadOf(Buffer.from('{"n":10000000000000000}'))
  assert.equal(reasonToSkip([{ field: 'n', in: [1e16] }], { headers: {}, payload: value }), undefined)
})
