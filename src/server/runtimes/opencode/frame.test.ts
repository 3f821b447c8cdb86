import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readFrame } from './frame.ts'

const family = { sessionId: 'ses_1', children: new Set(['ses_child']) }
const read = (type: string, properties: object) => readFrame(JSON.stringify({ type, properties }), family)
const of = (sessionID: string, more: object = {}) => ({ sessionID, ...more })

const asked = { id: 'per_1', permission: 'bash', patterns: ['ls'], metadata: { command: 'ls' }, always: [] }
const older = { id: 'per_1', type: 'bash', pattern: 'ls', messageID: 'msg_1', callID: 'call_1', title: 'Run ls' }

const table: readonly (readonly [string, string, object, unknown])[] = [
  ['busy is told', 'session.status', of('ses_1', { status: { type: 'busy' } }), { kind: 'busy' }],
  ['idle is told by the status', 'session.status', of('ses_1', { status: { type: 'idle' } }), { kind: 'idle' }],
  ['idle is told by its own event', 'session.idle', of('ses_1'), { kind: 'idle' }],
  [
    'a model call that is tried again is told with its reason',
    'session.status',
    of('ses_1', { status: { type: 'retry', attempt: 2, message: 'overloaded', next: 5 } }),
    { kind: 'retry', message: 'overloaded' },
  ],
  [
    'a message names its session in its info',
    'message.updated',
    { info: { id: 'msg_1', sessionID: 'ses_1', role: 'user' } },
    { kind: 'message', info: { id: 'msg_1', sessionID: 'ses_1', role: 'user' } },
  ],
  [
    'a part names its session in itself',
    'message.part.updated',
    { part: { id: 'prt_1', sessionID: 'ses_1' } },
    { kind: 'part', part: { id: 'prt_1', sessionID: 'ses_1' } },
  ],
  [
    'a piece of text is told with its part',
    'message.part.delta',
    of('ses_1', { messageID: 'msg_1', partID: 'prt_1', field: 'text', delta: 'Hi' }),
    { kind: 'delta', partId: 'prt_1', text: 'Hi' },
  ],
  [
    'a piece of anything but text is nothing',
    'message.part.delta',
    of('ses_1', { partID: 'prt_1', field: 'input', delta: '{' }),
    undefined,
  ],
  [
    'an error is told',
    'session.error',
    of('ses_1', { error: { name: 'APIError' } }),
    { kind: 'error', error: { name: 'APIError' } },
  ],
  ['an error of no session is nothing', 'session.error', { error: { name: 'APIError' } }, undefined],
  [
    'a permission is asked for with the call that needs it',
    'permission.asked',
    of('ses_1', { ...asked, tool: { messageID: 'msg_1', callID: 'call_1' } }),
    {
      kind: 'permission',
      request: {
        id: 'per_1',
        sessionId: 'ses_1',
        callId: 'call_1',
        permission: 'bash',
        input: { patterns: ['ls'], metadata: { command: 'ls' } },
        isOlder: false,
      },
    },
  ],
  [
    'a permission is asked for in the older way',
    'permission.updated',
    of('ses_1', older),
    {
      kind: 'permission',
      request: {
        id: 'per_1',
        sessionId: 'ses_1',
        callId: 'call_1',
        permission: 'bash',
        input: { patterns: ['ls'], title: 'Run ls', metadata: {} },
        isOlder: true,
      },
    },
  ],
  [
    'an answer of somebody else is told',
    'permission.replied',
    of('ses_1', { requestID: 'per_1', reply: 'always' }),
    { kind: 'replied', id: 'per_1', isAllowed: true },
  ],
  [
    'a refusal of somebody else is told, in the older way too',
    'permission.replied',
    of('ses_1', { permissionID: 'per_1', response: 'reject' }),
    { kind: 'replied', id: 'per_1', isAllowed: false },
  ],
  [
    'a question is told',
    'question.asked',
    of('ses_1', { id: 'que_1', questions: [] }),
    { kind: 'question', id: 'que_1' },
  ],
  [
    'a question of a subagent is told',
    'question.asked',
    of('ses_child', { id: 'que_1' }),
    { kind: 'question', id: 'que_1' },
  ],
  ['the end of a subagent is not ours', 'session.idle', of('ses_child'), undefined],
  [
    'a subagent of a subagent is told',
    'session.created',
    of('ses_3', { info: { id: 'ses_3', parentID: 'ses_child' } }),
    { kind: 'child', sessionId: 'ses_3' },
  ],
  ['what another session asks is nothing', 'permission.asked', of('ses_2', asked), undefined],
  ['another session is nothing', 'session.idle', of('ses_2'), undefined],
  ['files, language servers and terminals are nothing', 'file.edited', { file: 'a.txt' }, undefined],
  ['kinds of events that nobody knows yet are nothing', 'session.next.step.started', of('ses_1'), undefined],
  ['the first frame is nothing', 'server.connected', {}, undefined],
]

for (const [guarantee, type, properties, expected] of table) {
  test(guarantee, () => assert.deepEqual(read(type, properties), expected))
}

test('data that is not an event is ignored', () => {
  for (const data of [
    '',
    '{',
    'null',
    '[]',
    '7',
    '"x"',
    '{"type":"session.idle"}',
    '<html>',
    '{"type":7,"properties":[]}',
  ])
    assert.equal(readFrame(data, family), undefined)
})
