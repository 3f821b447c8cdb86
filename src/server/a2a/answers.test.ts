import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { A2aMessage, A2aPart } from '../../contract/a2a-objects.ts'
import { answersOf } from './answers.ts'
import type { Question } from './questions.ts'

const messageOf = (...parts: A2aPart[]): A2aMessage => ({ messageId: 'm', role: 'ROLE_USER', parts })
const question = (id: string, isCustom: boolean): Question => ({ id, name: 'bash', input: {}, isCustom })
const approvals = [question('evt_1', false), question('evt_2', false)]
const call = [question('evt_3', true)]
const calls = [...call, question('evt_4', true)]

const allowed = (tool_use_id: string) => ({ type: 'user.tool_confirmation', tool_use_id, result: 'allow' })
const denied = (tool_use_id: string, deny_message?: string) => ({
  type: 'user.tool_confirmation',
  tool_use_id,
  result: 'deny',
  ...(deny_message !== undefined && { deny_message }),
})
const returned = (custom_tool_use_id: string, text: string, more: object = {}) => ({
  type: 'user.custom_tool_result',
  custom_tool_use_id,
  content: [{ type: 'text', text }],
  ...more,
})
const all = approvals.map(({ id }) => id)

const answers: readonly (readonly [string, readonly Question[], A2aPart[], object[]])[] = [
  ['approve answers all approvals', approvals, [{ text: ' Approve ' }], all.map(allowed)],
  ['deny does as well', approvals, [{ text: 'deny' }], all.map(id => denied(id))],
  [
    'with the reason after a colon',
    approvals,
    [{ text: 'Deny: not\ntoday ' }],
    all.map(id => denied(id, 'not\ntoday')),
  ],
  [
    'data answers one approval',
    approvals,
    [{ data: { decision: 'approve', approval_id: 'evt_2' } }],
    [allowed('evt_2')],
  ],
  ['or all', approvals, [{ data: { decision: 'deny', message: 'no' } }], all.map(id => denied(id, 'no'))],
  [
    'two data parts answer two',
    approvals,
    [{ data: { decision: 'approve', approval_id: 'evt_2' } }, { data: { decision: 'deny', approval_id: 'evt_1' } }],
    [allowed('evt_2'), denied('evt_1')],
  ],
  ['text is the result of the only call', call, [{ text: '12 EUR' }], [returned('evt_3', '12 EUR')]],
  [
    'data is as well',
    call,
    [{ data: { result: 'no', is_error: true } }],
    [returned('evt_3', 'no', { is_error: true })],
  ],
  ['JSON is a text for the model', call, [{ data: { result: { n: 1 } } }], [returned('evt_3', '{"n":1}')]],
  [
    'data names one of several questions',
    [...approvals, ...calls],
    [{ data: { call_id: 'evt_4', result: 'x' } }, { data: { decision: 'approve' } }],
    [returned('evt_4', 'x'), ...all.map(allowed)],
  ],
]
for (const [guarantee, questions, parts, expected] of answers) {
  test(guarantee, () => assert.deepEqual(answersOf(messageOf(...parts), questions), expected))
}

test('an answer that is not clear is rejected, with the accepted forms', () => {
  const unclear: readonly (readonly [readonly Question[], A2aPart[], RegExp])[] = [
    [approvals, [{ text: 'sure, go on' }], /"approve", "deny" or "deny: <reason>"/],
    [approvals, [{ text: 'approve: because' }], /"approve", "deny"/],
    [approvals, [{ text: 'approved' }], /"approve", "deny"/],
    [approvals, [{ raw: 'aGk=' }], /parts\[0\] must be text or data/],
    [approvals, [{ data: 'approve' }], /must be an object/],
    [approvals, [{ data: { decision: 'yes' } }], /decision must be "approve" or "deny"/],
    [approvals, [{ data: { decision: 'approve', approval_id: 1 } }], /approval_id must be string/],
    [
      approvals,
      [{ data: { decision: 'approve', approval_id: 'evt_9' } }],
      /evt_9 is not pending; pending: evt_1, evt_2/,
    ],
    [approvals, [{ data: { decision: 'approve', message: 'why' } }], /reason of a denial/],
    [approvals, [{ text: 'approve' }, { text: 'deny' }], /"approve", "deny"/],
    [approvals, [{ data: { decision: 'approve' } }, { data: { decision: 'deny' } }], /answer evt_1 twice/],
    [approvals, [{ data: { result: 'x' } }], /waits for none/],
    [calls, [{ text: 'x' }], /must be data.*evt_3 \(bash\), evt_4/],
    [calls, [{ data: { result: 'x' } }], /must name the call by call_id/],
    [call, [{ data: { call_id: 'evt_3' } }], /result is required/],
    [call, [{ data: { result: 'x', is_error: 'no' } }], /is_error must be true or false/],
    [call, [{ data: { decision: 'approve' } }], /waits for none/],
    [call, [{ text: 'x'.repeat(262_145) }], /at most 262144 characters/],
  ]
  for (const [questions, parts, message] of unclear)
    assert.throws(() => answersOf(messageOf(...parts), questions), message)
})
