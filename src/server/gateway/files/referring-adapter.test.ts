import assert from 'node:assert/strict'
import { test } from 'node:test'
import { masterCaller } from '../../http/caller.ts'
import type { Attempt, Call, Outcome, Sink, Target, UpstreamError } from '../core/call.ts'
import { unsentOutcome } from '../core/endings.ts'
import { readRequest } from '../core/request.ts'
import { filledRequest } from './filled-request.ts'
import type { ProviderCopies } from './provider-copies.ts'
import { fileReferencesIn } from './references.ts'
import { createReferringAdapter } from './referring-adapter.ts'

const id = `file_0${'1'.repeat(31)}`
const pdf = { id, media_type: 'application/pdf', filename: 'a.pdf', bytes: 4, pieces: [] }
const answered: Outcome = { ...unsentOutcome, outcome: 'completed', status: 200 }
const sink = {} as Sink

async function attemptWith(part: object, provider: string): Promise<Attempt> {
  const body = Buffer.from(JSON.stringify({ model: 'm', max_tokens: 1, messages: [{ role: 'user', content: [part] }] }))
  async function* contentOf() {
    yield Buffer.from('%PDF')
  }
  const files = await filledRequest(body, {
    references: fileReferencesIn(body),
    fileOf: () => pdf,
    contentOf,
    maxBytes: 10_000,
  })
  const call: Call = {
    kind: 'messages',
    body: files.body,
    files,
    headers: { 'anthropic-beta': 'other-beta' },
    query: '',
    requestId: 'req_1',
    caller: masterCaller,
    signal: { aborted: false, addEventListener: () => undefined, removeEventListener: () => undefined },
  }
  const target = { deployment: { id: 'd', provider }, upstreamModel: 'm', protocol: 'anthropic-messages' } as Target
  return { call, parsed: { ...readRequest(call), model: 'alias' }, target, ownHeaders: {}, startedMs: 0 }
}

const document = { type: 'document', source: { type: 'file', file_id: id } }

/** Calls the adapter at a provider that has `stored`, which uploads replace. */
async function called(
  attempt: Attempt,
  { stored, uploads }: { stored: string | undefined; uploads: string[] | undefined },
) {
  const sent: Attempt[] = []
  let current = stored
  let remembered = stored === undefined ? undefined : 'theirs_old'
  const copies: ProviderCopies = {
    async idsOf() {
      if (remembered === undefined) {
        remembered = uploads?.shift()
        current = remembered
      }
      return remembered === undefined ? undefined : new Map([[id, remembered]])
    },
    async forget() {
      remembered = undefined
    },
  }
  const adapter = async (each: Attempt): Promise<Outcome | UpstreamError> => {
    sent.push(each)
    const text = each.call.body.toString()
    const isMissing = text.includes('theirs_') && !text.includes(String(current))
    const body = Buffer.from(`{"error":{"message":"File not found: ${remembered}"}}`)
    return isMissing ? { outcome: 'refused', status: 404, headers: {}, body } : answered
  }
  const result = await createReferringAdapter(adapter, copies)(attempt, sink)
  return { result, sent: sent.map(({ call }) => call.body.toString()), attempts: sent }
}

test('a provider that stores files gets a reference, and the beta that it needs', async () => {
  const { result, sent, attempts } = await called(await attemptWith(document, 'anthropic'), {
    stored: undefined,
    uploads: ['theirs_1'],
  })
  assert.deepEqual([result, sent.length], [answered, 1])
  assert.ok(sent[0]?.includes('{"type":"file","file_id":"theirs_1"}') && !sent[0].includes('base64'), sent[0])
  assert.equal(attempts[0]?.call.headers['anthropic-beta'], 'other-beta,files-api-2025-04-14')
  assert.equal(attempts[0]?.parsed.model, 'alias')
})

test('a file that the provider no longer has is uploaded again', async () => {
  const { result, sent } = await called(await attemptWith(document, 'anthropic'), {
    stored: 'theirs_other',
    uploads: ['theirs_2'],
  })
  assert.deepEqual([result, sent.map(text => /theirs_\w+/.exec(text)?.[0])], [answered, ['theirs_old', 'theirs_2']])
})

test('the content is sent when the provider cannot store files, or a hook has changed the request', async () => {
  const attempt = await attemptWith(document, 'anthropic')
  const content = attempt.call.body.toString()
  assert.deepEqual((await called(attempt, { stored: undefined, uploads: undefined })).sent, [content])
  const other = await attemptWith(document, 'openrouter')
  assert.deepEqual((await called(other, { stored: undefined, uploads: ['theirs_1'] })).sent, [content])
  const changed = { ...attempt, call: { ...attempt.call, body: Buffer.from(content) } }
  assert.deepEqual((await called(changed, { stored: undefined, uploads: ['theirs_1'] })).sent, [content])
})

test('an upload to a container needs a provider that stores files', async () => {
  const upload = { type: 'container_upload', file_id: id }
  const { sent } = await called(await attemptWith(upload, 'anthropic'), { stored: undefined, uploads: ['theirs_1'] })
  assert.ok(sent[0]?.includes('"file_id":"theirs_1"'))
  await assert.rejects(called(await attemptWith(upload, 'bedrock'), { stored: undefined, uploads: undefined }), {
    code: 'invalid_request',
    message: /messages\.0\.content\.0\.file_id: container_upload needs a provider that stores files/,
  })
})
