import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { freshDatabase } from '../../../test/support/service/database.ts'
import { createAudit } from '../audit/audit.ts'
import { auditStore } from '../audit/store.ts'
import { fileStore } from '../files/file-store.ts'
import { createFiles } from '../files/files.ts'
import { masterCaller, serviceActor } from '../http/caller.ts'
import { blobStore } from '../workspaces/blob-store.ts'
import { createBlobs } from '../workspaces/blobs.ts'
import { storeContent } from '../workspaces/contents.ts'
import { createBatchFiles } from './batch-files.ts'
import { batchStore } from './batch-store.ts'
import { createBatches } from './batches.ts'
import { createFileBatches } from './file-batches.ts'
import { readInputFile } from './input-file.ts'
import { lineStore } from './line-store.ts'
import { createLineWriter } from './new-lines.ts'
import { toBatch } from './public-batch.ts'

const { pool, db } = await freshDatabase()
let maxOwnerBytes = 1e9
const files = createFiles({
  store: fileStore(pool),
  blobs: createBlobs(blobStore(pool)),
  storeContent,
  audit: createAudit(auditStore(db)),
  maxOwnerBytes: () => maxOwnerBytes,
})
const store = batchStore(pool)
const lines = lineStore(pool)
const announce = () => undefined
const batches = createBatches({ store, lines, announce }, 'openai')
const create = createFileBatches({ store, files, announce })
const targetOf = () => undefined
const runJob = createBatchFiles({ store, lines, targetOf, files })
const owner = randomUUID()
const endpoint = '/v1/chat/completions'

async function* contentOf(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text)
}

async function upload(text: string, purpose = 'batch'): Promise<string> {
  const fields = { purpose, filename: 'requests.jsonl', mediaType: undefined, expiresInS: undefined }
  return (await files.create(contentOf(text), fields, { owner: 'master', actor: serviceActor })).id
}

const line = (custom_id: string, more: object = {}): string =>
  JSON.stringify({ custom_id, method: 'POST', url: endpoint, body: { model: 'm' }, ...more })

async function createOf(text: string) {
  const given = { input_file_id: await upload(text), endpoint, completion_window: '24h' } as const
  return create({ ...given, metadata: { team: 'blue' } }, masterCaller)
}

/** Runs the next job as a process would. */
async function work(signal = new AbortController().signal) {
  const job = (await store.claimJob({ claim: randomUUID(), owner })) ?? assert.fail('there is no job')
  return { job, end: await runJob(job, signal) }
}

const batchOf = async (id: string) => toBatch(await batches.get(id, masterCaller))

async function textOf(id: string | null): Promise<readonly Record<string, unknown>[]> {
  const chunks: Buffer[] = []
  for await (const chunk of files.contentOf(await files.get('master', id ?? ''))) chunks.push(chunk)
  return Buffer.concat(chunks)
    .toString()
    .trimEnd()
    .split('\n')
    .map(text => JSON.parse(text))
}

const outputs = () => files.list('master', { purpose: 'batch_output', order: 'desc', limit: 100 })

test('a checked batch ends with an output file and an error file, in the order of its lines', async () => {
  const { id } = await createOf([line('a'), '', line('b'), line('s', { body: { stream: true } }), line('c')].join('\n'))
  assert.equal((await batchOf(id)).status, 'validating')
  assert.equal((await work()).end, 'done')
  const running = await batchOf(id)
  assert.deepEqual([running.status, running.request_counts], ['in_progress', { total: 4, completed: 0, failed: 1 }])
  const claimed = await lines.claim({ claim: randomUUID(), owner, limit: 10 })
  const results = { a: [200, 'succeeded'], b: [400, 'errored'] } as const
  await lines.settle(
    claimed.slice(0, 2).map((named, at) => {
      const [status, type] = results[at === 0 ? 'a' : 'b']
      return { ...named, status, type, request_id: `req_${at}`, result: `{"n":${at}}` }
    }),
  )
  await lines.release(claimed.slice(2).map(named => ({ ...named, waitMs: 0, isTry: false })))
  await lines.close(id, { type: 'expired', result: null })
  assert.equal((await batchOf(id)).status, 'finalizing')

  // Owners without room keep their results until there is.
  maxOwnerBytes = 1
  const { end } = await work()
  assert.match(end === 'done' ? '' : end.reason, /limits\.files_bytes/)
  maxOwnerBytes = 1e9
  await pool.query('update batches set ready_at = clock_timestamp(), claim = null where id = $1', [id])
  assert.equal((await work()).end, 'done')

  const batch = await batchOf(id)
  assert.deepEqual(
    [batch.status, batch.request_counts, batch.metadata, typeof batch.expired_at],
    ['expired', { total: 4, completed: 1, failed: 3 }, { team: 'blue' }, 'number'],
  )
  assert.deepEqual(await textOf(batch.output_file_id), [
    {
      id: 'batch_req_0',
      custom_id: 'a',
      response: { status_code: 200, request_id: 'req_0', body: { n: 0 } },
      error: null,
    },
  ])
  const failed = await textOf(batch.error_file_id)
  assert.deepEqual(
    failed.map(({ custom_id, response, error }) => [
      custom_id,
      Boolean(response),
      (error as { code: string } | null)?.code,
    ]),
    [
      ['b', true, undefined],
      ['s', false, 'invalid_request'],
      ['c', false, 'batch_expired'],
    ],
  )
  assert.equal((await outputs()).length, 2)
})

test('a process that loses its claim while it writes files leaves none of them', async () => {
  const { id } = await createOf(line('a'))
  await work()
  const [claimed] = await lines.claim({ claim: randomUUID(), owner, limit: 1 })
  assert.ok(claimed)
  await lines.settle([{ ...claimed, type: 'succeeded', status: 200, request_id: 'req_1', result: '{}' }])
  const before = (await outputs()).length
  const job = (await store.claimJob({ claim: randomUUID(), owner })) ?? assert.fail('there is no job')
  await pool.query('update batches set claim = $2, ready_at = clock_timestamp() where id = $1', [id, randomUUID()])
  await assert.rejects(runJob(job, new AbortController().signal), { name: 'ClaimLost' })
  assert.equal((await outputs()).length, before)
  assert.equal((await work()).end, 'done')
  assert.deepEqual([(await batchOf(id)).status, (await outputs()).length], ['completed', before + 1])
})

const invalidFiles: readonly (readonly [why: string, text: string, codes: readonly string[]])[] = [
  ['that is not JSONL', 'garbage\n\u0000\u0001', ['invalid_json_line', 'invalid_json_line']],
  ['of one line of garbage', '[1, 2]', ['invalid_json_line']],
  ['without requests', '\n \n', ['empty_file']],
  ['with a repeated custom_id', [line('a'), line('a')].join('\n'), ['duplicate_custom_id']],
  ['with another url in a line', [line('a'), line('b', { url: '/v1/embeddings' })].join('\n'), ['invalid_url']],
  ['without a custom_id', line('', {}), ['invalid_custom_id']],
  ['with another method', line('a', { method: 'GET' }), ['invalid_method']],
  ['without a body', line('a', { body: null }), ['invalid_body']],
]

for (const [why, text, codes] of invalidFiles) {
  test(`a file ${why} fails its batch before any call`, async () => {
    const { id } = await createOf(text)
    await work()
    const batch = await batchOf(id)
    assert.equal(batch.status, 'failed')
    assert.deepEqual(
      batch.errors?.data.map(({ code }) => code),
      codes,
    )
    assert.deepEqual((await pool.query('select from batch_lines where batch_id = $1', [id])).rows, [])
    assert.equal(await store.claimJob({ claim: randomUUID(), owner }), undefined)
  })
}

test('a file of more lines than allowed is named with the limit, and a validation that was interrupted starts again', async () => {
  const text = Array.from({ length: 6 }, (_, at) => line(`line-${at}`)).join('\n')
  const writer = createLineWriter(async () => undefined)
  const [error] = await readInputFile({ content: contentOf(text), endpoint, targetOf, writer, maxLines: 5 })
  assert.deepEqual([error?.code, error?.line], ['too_many_requests', 6])
  assert.match(error?.message ?? '', /more than 5 requests/)
  const blank = `${line('a')}\n${'\n'.repeat(6)}${line('b')}`
  const [ofBlank] = await readInputFile({ content: contentOf(blank), endpoint, targetOf, writer, maxLines: 5 })
  assert.deepEqual([ofBlank?.line, ofBlank?.message], [7, 'file has more than 5 blank lines; remove them'])

  const { id } = await createOf(text)
  const job = (await store.claimJob({ claim: randomUUID(), owner })) ?? assert.fail('there is no job')
  await store.addLines(job, [{ seq: 0, custom_id: 'old', request: '{}' }])
  await pool.query('update batches set ready_at = clock_timestamp() where id = $1', [id])
  assert.equal((await work()).end, 'done')
  await assert.rejects(store.addLines(job, [{ seq: 9, custom_id: 'late', request: '{}' }]), { name: 'ClaimLost' })
  assert.equal((await batchOf(id)).request_counts.total, 6)
  assert.equal((await batches.cancel(id, masterCaller)).state, 'canceling')
})

test('files with another purpose and of other callers are rejected, and a batch that is being checked can be cancelled', async () => {
  const about = { endpoint, completion_window: '24h' } as const
  const other = await upload('x', 'user_data')
  await assert.rejects(create({ ...about, input_file_id: other }, masterCaller), {
    code: 'invalid_request',
    message: /purpose/,
  })
  const mine = await upload(line('a'))
  const stranger = { ...masterCaller, principal: 'bo' }
  await assert.rejects(create({ ...about, input_file_id: mine }, stranger), { code: 'not_found' })
  const { id } = await create({ ...about, input_file_id: mine }, masterCaller)
  await batches.cancel(id, masterCaller)
  assert.equal((await batchOf(id)).status, 'cancelled')
})

test('a request that is repeated with its key gets the first batch', async () => {
  const given = { input_file_id: await upload(line('a')), endpoint, completion_window: '24h' } as const
  const request = { principal: 'master', route: 'batches', key: 'k1', bodyHash: Buffer.from('1') }
  const [first, second] = await Promise.all([1, 2].map(() => create(given, masterCaller, request)))
  assert.equal(second?.id, first?.id)
  const other = { ...request, bodyHash: Buffer.from('2') }
  await assert.rejects(create(given, masterCaller, other), { code: 'idempotency_mismatch' })
})
