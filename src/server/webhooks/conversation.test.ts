import assert from 'node:assert/strict'
import { test } from 'node:test'
import { conversationOf } from './conversation.ts'

const repository = { full_name: 'acme/site' }
const cases: readonly (readonly [setting: string | null, payload: unknown, expected: string | undefined])[] = [
  [null, { id: 1 }, undefined],
  ['ticket.id', { ticket: { id: 7 } }, '7'],
  ['ticket.id', { ticket: {} }, undefined],
  ['ticket.id', { ticket: { id: ' ' } }, undefined],
  ['{{org}}/{{ticket.id}}', { org: 'a', ticket: { id: 7 } }, 'a/7'],
  ['{{org}}/{{ticket.id}}', { ticket: { id: 7 } }, undefined],
  ['github-issue', { repository, issue: { number: 5 } }, 'acme/site#5'],
  ['github-issue', { repository, pull_request: { number: 6 } }, 'acme/site#6'],
  ['github-issue', { repository, issue: { number: 5 }, comment: { id: 9 } }, 'acme/site#5'],
  ['github-issue', { repository, ref: 'refs/heads/main' }, undefined],
  ['gitlab-issue', { project: { id: 3 }, object_kind: 'issue', object_attributes: { iid: 4 } }, '3:issue:4'],
  ['gitlab-issue', { project: { id: 3 }, object_kind: 'note', object_attributes: {}, issue: { iid: 4 } }, '3:issue:4'],
  [
    'gitlab-issue',
    { project: { id: 3 }, object_kind: 'merge_request', object_attributes: { iid: 4 } },
    '3:merge_request:4',
  ],
  ['gitlab-issue', { project: { id: 3 }, object_kind: 'note', merge_request: { iid: 4 } }, '3:merge_request:4'],
  ['linear-issue', { type: 'Issue', data: { id: 'i1' } }, 'i1'],
  ['linear-issue', { type: 'Comment', data: { id: 'c1', issue: { id: 'i1' } } }, 'i1'],
  ['linear-issue', { type: 'Comment', data: { id: 'c1', issueId: 'i1' } }, 'i1'],
  ['slack-thread', { team_id: 'T', event: { channel: 'C', ts: '1.0' } }, 'T/C/1.0'],
  ['slack-thread', { team_id: 'T', event: { channel: 'C', ts: '2.0', thread_ts: '1.0' } }, 'T/C/1.0'],
  ['constructor', {}, undefined],
]
for (const [setting, payload, expected] of cases) {
  test(`the conversation ${setting} of ${JSON.stringify(payload)} is ${expected}`, () => {
    assert.equal(conversationOf(setting, payload), expected)
  })
}
