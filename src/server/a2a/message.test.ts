import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { A2aMessage, A2aPart, A2aSendRequest } from '../../contract/a2a-objects.ts'
import { AppError } from '../platform/errors.ts'
import { answersOf, checkRequest, promptPartsOf } from './message.ts'

const messageOf = (...parts: A2aPart[]): A2aMessage => ({ messageId: 'm', role: 'ROLE_USER', parts })
const thrownBy = (work: () => unknown): AppError => {
  try {
    work()
  } catch (error) {
    if (error instanceof AppError) return error
  }
  return assert.fail('accepted')
}
const reasonOf = (work: () => unknown) => thrownBy(work).fields['reason']

test('text parts are those of the prompt; others are rejected by their place', () => {
  const parts = promptPartsOf(messageOf({ text: 'a' }, { text: '# b', mediaType: 'text/markdown' }))
  assert.deepEqual(parts, [
    { type: 'text', text: 'a' },
    { type: 'text', text: '# b' },
  ])
  const others: A2aPart[] = [
    { raw: 'aGk=' },
    { url: 'https://example.com/a.png' },
    { data: {} },
    { text: 'x', mediaType: 'image/png' },
  ]
  for (const part of others) {
    const error = thrownBy(() => promptPartsOf(messageOf({ text: 'a' }, part)))
    assert.equal(error.fields['reason'], 'CONTENT_TYPE_NOT_SUPPORTED')
    assert.match(error.message, /message\.parts\[1\]/)
  }
  assert.match(thrownBy(() => promptPartsOf(messageOf({ text: ' \n' }))).message, /must not be blank/)
  assert.match(thrownBy(() => promptPartsOf(messageOf({}))).message, /parts\[0\]\.text is required/)
})

test('a request is rejected when the client accepts no result of the agent, or wants push notifications', () => {
  const request = (configuration: NonNullable<A2aSendRequest['configuration']>) => ({
    message: messageOf({ text: 'a' }),
    configuration,
  })
  const check = (accepted: string[], own = ['text/plain']) =>
    checkRequest(request({ acceptedOutputModes: accepted }), own)
  for (const accepted of [[], ['text/plain'], ['image/png', 'text/*'], ['*/*'], ['Text/Plain; charset=utf-8']])
    check(accepted)
  check(['application/json'], ['text/plain', 'application/json'])
  assert.equal(
    reasonOf(() => check(['application/json'])),
    'CONTENT_TYPE_NOT_SUPPORTED',
  )
  const push = request({ taskPushNotificationConfig: { url: 'https://example.com' } })
  assert.equal(
    reasonOf(() => checkRequest(push, ['text/plain'])),
    'PUSH_NOTIFICATION_NOT_SUPPORTED',
  )
  const agents = { message: { ...messageOf({ text: 'a' }), role: 'ROLE_AGENT' as const } }
  assert.match(thrownBy(() => checkRequest(agents, ['text/plain'])).message, /role must be ROLE_USER/)
})

const pending = ['evt_1', 'evt_2']
const allowed = (approvalId: string) => ({ approvalId, result: 'allow', message: undefined })
const denied = (approvalId: string, message?: string) => ({ approvalId, result: 'deny', message })

const answers: readonly (readonly [string, A2aPart[], object[]])[] = [
  ['approve answers all approvals', [{ text: ' Approve ' }], pending.map(allowed)],
  ['deny does as well', [{ text: 'deny' }], pending.map(id => denied(id))],
  ['with the reason after a colon', [{ text: 'Deny: not\ntoday ' }], pending.map(id => denied(id, 'not\ntoday'))],
  ['a data part answers one', [{ data: { decision: 'approve', approval_id: 'evt_2' } }], [allowed('evt_2')]],
  ['or all', [{ data: { decision: 'deny', message: 'no' } }], pending.map(id => denied(id, 'no'))],
  [
    'two data parts answer two',
    [{ data: { decision: 'approve', approval_id: 'evt_2' } }, { data: { decision: 'deny', approval_id: 'evt_1' } }],
    [allowed('evt_2'), denied('evt_1')],
  ],
]
for (const [guarantee, parts, expected] of answers) {
  test(guarantee, () => assert.deepEqual(answersOf(messageOf(...parts), pending), expected))
}

test('an answer that is not clear is rejected, with the accepted forms', () => {
  const unclear: readonly (readonly [A2aPart[], RegExp])[] = [
    [[{ text: 'sure, go on' }], /"approve", "deny" or "deny: <reason>"/],
    [[{ text: 'approve: because' }], /"approve", "deny"/],
    [[{ text: 'approved' }], /"approve", "deny"/],
    [[{ data: 'approve' }], /must be an object/],
    [[{ data: { decision: 'yes' } }], /decision must be "approve" or "deny"/],
    [[{ data: { decision: 'approve', approval_id: 1 } }], /approval_id must be string/],
    [[{ data: { decision: 'approve', approval_id: 'evt_9' } }], /evt_9 is not pending; pending: evt_1, evt_2/],
    [[{ data: { decision: 'approve', message: 'why' } }], /reason of a denial/],
    [[{ text: 'approve' }, { text: 'deny' }], /answer approval evt_1 twice/],
  ]
  for (const [parts, message] of unclear) {
    assert.match(thrownBy(() => answersOf(messageOf(...parts), pending)).message, message)
  }
})
