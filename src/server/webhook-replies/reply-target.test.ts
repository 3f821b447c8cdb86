import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WebhookConfig } from '../../contract/webhooks.ts'
import { commentMark, reasonNotToAnswer, replyTypeOf, targetOf } from './reply-target.ts'

const reply = { secret_key: 'TOKEN' }
const signedBy = (preset: 'github' | 'slack' | 'stripe') => ({ preset, secret_key: 'S' })

test('the signature preset of GitHub and Slack carries the type of the replies; a named type wins', () => {
  const cases: readonly [WebhookConfig, string | undefined][] = [
    [{}, undefined],
    [{ reply: null }, undefined],
    [{ reply, signature: signedBy('github') }, 'github_comment'],
    [{ reply, signature: signedBy('slack') }, 'slack_thread'],
    [{ reply, signature: signedBy('stripe') }, undefined],
    [{ reply: { ...reply, type: 'callback', url: 'https://a.example' }, signature: signedBy('github') }, 'callback'],
  ]
  for (const [settings, expected] of cases) assert.equal(replyTypeOf(settings), expected)
})

const repository = { full_name: 'acme/site' }
const github = { base: 'https://api.github.com', repository: 'acme/site', number: 7 }
const slack = { base: 'https://slack.com/api', channel: 'C1', thread_ts: '17.5' }
for (const [what, type, payload, expected] of [
  ['an issue', 'github_comment', { repository, issue: { number: 7 } }, github],
  ['a pull request', 'github_comment', { repository, pull_request: { number: 7 } }, github],
  ['a message', 'slack_thread', { event: { channel: 'C1', ts: '17.5' } }, slack],
  ['a message of a thread', 'slack_thread', { event: { channel: 'C1', ts: '18.1', thread_ts: '17.5' } }, slack],
] as const)
  test(`the reply to ${what} goes where the payload says, at the host of the service`, () =>
    assert.deepEqual(targetOf(type, undefined, payload), expected))

for (const [type, payload] of [
  ['github_comment', { repository }],
  ['github_comment', { repository, issue: { number: '7/../../x' } }],
  ['github_comment', { repository: { full_name: '../..' }, issue: { number: 7 } }],
  ['github_comment', { repository: { full_name: 'acme/site/x' }, issue: { number: 7 } }],
  ['github_comment', null],
  ['slack_thread', { event: { channel: 'C1' } }],
  ['slack_thread', { event: { channel: '#general', ts: '17.5' } }],
] as const)
  test(`${JSON.stringify(payload)} has no place for a ${type}`, () =>
    assert.equal(typeof targetOf(type, undefined, payload), 'string'))

test('an agent never answers its own replies', () => {
  const settings = (type: 'github_comment' | 'slack_thread' | 'callback') => ({ reply: { ...reply, type, url: 'x' } })
  const own = { comment: { body: `Done.\n\n${commentMark}rpl_1 -->` } }
  assert.equal(reasonNotToAnswer(settings('github_comment'), own), 'comment is a reply of this service')
  assert.equal(reasonNotToAnswer(settings('github_comment'), { comment: { body: 'Please look' } }), undefined)
  assert.equal(reasonNotToAnswer(settings('slack_thread'), { event: { bot_id: 'B1' } }), 'message was written by a bot')
  assert.equal(reasonNotToAnswer(settings('slack_thread'), { event: { user: 'U1' } }), undefined)
  assert.equal(reasonNotToAnswer(settings('callback'), { type: 'session.reply' }), 'payload is a reply of this service')
  assert.equal(reasonNotToAnswer({}, own), undefined)
})
