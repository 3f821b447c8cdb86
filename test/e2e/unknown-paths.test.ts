import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answered, send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'

const service = await startService()
const stranger = { url: service.url }

/** The message of an error, whose envelope is that of the clients of one format. */
type MessageOf = (answer: Answered, expected: { status: number; type: string; code: string | null }) => string

const ofOpenAi: MessageOf = ({ status, json }, expected) => {
  const { error } = json<{ error: { message: string; type: string; param: null; code: string | null } }>()
  assert.deepEqual(Object.keys(error), ['message', 'type', 'param', 'code'])
  assert.deepEqual([status, error.type, error.code], [expected.status, 'invalid_request_error', expected.code])
  return error.message
}
const ofAnthropic: MessageOf = ({ status, json, headers }, expected) => {
  const body = json<{ type: string; error: { type: string; message: string }; request_id: string }>()
  assert.deepEqual([status, body.type, body.error.type], [expected.status, 'error', expected.type])
  assert.equal(body.request_id, headers['request-id'])
  return body.error.message
}
const googleStatus: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  404: 'NOT_FOUND',
  405: 'UNIMPLEMENTED',
}
const ofGoogle: MessageOf = ({ status, json }, expected) => {
  const { error } = json<{ error: { code: number; message: string; status: string } }>()
  assert.deepEqual([status, error.code, error.status], [expected.status, status, googleStatus[status]])
  return error.message
}

const unknown: readonly (readonly [path: string, MessageOf])[] = [
  ['/v1/responses/resp_1/nothing', ofOpenAi],
  ['/v1/responses/resp_1/nothing/more', ofOpenAi],
  ['/v1/chat', ofOpenAi],
  ['/v1/chat/nothing', ofOpenAi],
  ['/v1/chat/completions/x/nothing', ofOpenAi],
  ['/v1/embeddings/nothing', ofOpenAi],
  ['/v1/images/nothing', ofOpenAi],
  ['/chat/nothing', ofOpenAi],
  ['/responses/resp_1/nothing', ofOpenAi],
  ['/openai/deployments', ofOpenAi],
  ['/openai/deployments/m/nothing', ofOpenAi],
  ['/v1/messages/nothing', ofAnthropic],
  ['/v1/messages/batches/b_1/nothing', ofAnthropic],
  ['/messages/nothing', ofAnthropic],
  ['/v1beta', ofGoogle],
  ['/v1beta/nothing', ofGoogle],
  ['/v1beta/files/nothing/more', ofGoogle],
]
for (const [path, messageOf] of unknown) {
  test(`P3: ${path} is 404 in the envelope of its clients, names the path, and is 401 without a key`, async () => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const answer = await send(service, `${method} ${path}?beta=true&key=x`, method === 'POST' ? { body: {} } : {})
      const message = messageOf(answer, { status: 404, type: 'not_found_error', code: 'unknown_url' })
      assert.equal(message, `unknown path: ${path}; see /docs`)
      assert.equal((await send(stranger, `${method} ${path}`)).status, 401)
    }
  })
}

const calls: readonly (readonly [path: string, MessageOf])[] = [
  ['/v1/chat/completions', ofOpenAi],
  ['/v1/responses', ofOpenAi],
  ['/v1/embeddings', ofOpenAi],
  ['/chat/completions', ofOpenAi],
  ['/responses', ofOpenAi],
  ['/openai/deployments/demo/chat/completions', ofOpenAi],
  ['/v1/messages', ofAnthropic],
  ['/v1/messages/count_tokens', ofAnthropic],
  ['/messages', ofAnthropic],
  ['/v1beta/models/demo:generateContent', ofGoogle],
  ['/v1beta/demo:generateContent', ofGoogle],
  ['/v1/models/demo:streamGenerateContent', ofGoogle],
]
for (const [path, messageOf] of calls) {
  test(`P3: POST ${path} answers a malformed body in the envelope of its clients`, async () => {
    for (const [body, message] of [
      ['{"model":', 'request body is not valid JSON'],
      ['not json', 'request body is not valid JSON'],
      ['[]', 'the body must be a JSON object'],
      ['', 'the body is empty'],
    ] as const) {
      const answer = await send(service, `POST ${path}`, { body, headers: { 'content-type': 'application/json' } })
      assert.equal(messageOf(answer, { status: 400, type: 'invalid_request_error', code: null }), message)
    }
    const wrongMethod = await send(service, `DELETE ${path}`)
    const expected = { status: 405, type: 'invalid_request_error', code: null }
    assert.match(messageOf(wrongMethod, expected), /^method DELETE is not allowed here; use .*POST/)
  })
}
