import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { A2aMessage, A2aPart, A2aSendRequest } from '../../contract/a2a-objects.ts'
import { AppError } from '../platform/errors.ts'
import { checkRequest, digestedMessage, isSameContent, promptPartsOf } from './message.ts'

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

test('text parts are those of the prompt, files are file parts, and data is text', () => {
  const parts = promptPartsOf(
    messageOf(
      { text: 'a' },
      { text: '# b', mediaType: 'text/markdown' },
      { raw: 'aGk=', filename: 'hi.txt', mediaType: 'text/plain' },
      { url: 'data:text/plain;base64,aGk=' },
      { data: { n: 1 } },
    ),
  )
  assert.deepEqual(parts, [
    { type: 'text', text: 'a' },
    { type: 'text', text: '# b' },
    { type: 'file', data: 'aGk=', name: 'hi.txt', media_type: 'text/plain' },
    { type: 'file', url: 'data:text/plain;base64,aGk=' },
    { type: 'text', text: '{"n":1}' },
  ])
  for (const part of [{ url: 'https://example.com/a.png' }, { text: 'x', mediaType: 'image/png' }]) {
    const error = thrownBy(() => promptPartsOf(messageOf({ text: 'a' }, part)))
    assert.equal(error.fields['reason'], 'CONTENT_TYPE_NOT_SUPPORTED')
    assert.match(error.message, /message\.parts\[1\].*in raw, as base64/)
  }
  assert.match(thrownBy(() => promptPartsOf(messageOf({ text: ' \n' }))).message, /must not be blank/)
  for (const part of [{}, { text: 'a', raw: 'aGk=' }])
    assert.match(thrownBy(() => promptPartsOf(messageOf(part))).message, /parts\[0\] must have exactly one of/)
})

test('a repeated message is recognised by its texts and the hashes of its files', async () => {
  const sha256 = '8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4'
  const file = { type: 'file', name: 'hi', media_type: 'text/plain', size: 2, sha256, path: 'uploads/x/hi' } as const
  const stored = [{ type: 'text', text: 'a' }, file] as const
  for (const part of [{ raw: 'aGk=' }, { url: 'data:text/plain;base64,aGk=' }])
    assert.equal(isSameContent(stored, await digestedMessage(messageOf({ text: 'a' }, part))), true)
  for (const parts of [[{ text: 'a' }], [{ text: 'a' }, { raw: 'aGo=' }], [{ text: 'b' }, { raw: 'aGk=' }]])
    assert.equal(isSameContent(stored, await digestedMessage(messageOf(...parts))), false)
})

test('a request is rejected when the client accepts no result of the agent', () => {
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
  const agents = { message: { ...messageOf({ text: 'a' }), role: 'ROLE_AGENT' as const } }
  assert.match(thrownBy(() => checkRequest(agents, ['text/plain'])).message, /role must be ROLE_USER/)
})
