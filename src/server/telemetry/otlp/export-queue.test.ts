import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { createExportQueue, type PostResult } from './export-queue.ts'

const accepted: PostResult = { status: 200, problem: undefined }
const unreachable: PostResult = { status: undefined, problem: 'connection refused' }

function queueOf(answers: PostResult[], maxItems = 10) {
  const batches: string[] = []
  const problems: string[] = []
  const queue = createExportQueue({
    frame: { start: length => Buffer.from(`${length}:`) },
    async post(body) {
      batches.push(body.toString())
      return answers.shift() ?? accepted
    },
    onProblem: problem => problems.push(problem),
    maxItems,
    gatherMs: 1,
    maxPauseMs: 2,
  })
  return { queue, batches, problems }
}

test('items are gathered into a batch', async () => {
  const { queue, batches } = queueOf([])
  for (const item of ['1', '2', '3']) queue.add(Buffer.from(item))
  await eventually(async () => queue.exported === 3)
  assert.deepEqual(batches, ['3:123'])
})

test('a batch is sent again while the collector is unreachable or busy', async () => {
  const { queue, batches, problems } = queueOf([unreachable, { status: 503, problem: undefined }])
  queue.add(Buffer.from('1'))
  await eventually(async () => queue.exported === 1)
  assert.deepEqual(batches, ['1:1', '1:1', '1:1'])
  assert.deepEqual(problems, ['connection refused', 'the collector returned status 503'])
})

test('a rejected batch is dropped and counted', async () => {
  const { queue } = queueOf([{ status: 400, problem: undefined }])
  queue.add(Buffer.from('1'))
  await eventually(async () => queue.droppedByCollector === 1)
  assert.equal(queue.exported, 0)
})

test('a full queue drops new items, and a stop drops the rest', async () => {
  const answers = Array.from({ length: 1_000 }, () => unreachable)
  const { queue } = queueOf(answers, 2)
  for (const item of ['1', '2', '3']) queue.add(Buffer.from(item))
  assert.equal(queue.droppedByQueue, 1)
  await queue.stop(50)
  assert.equal(queue.droppedByQueue, 3)
  queue.add(Buffer.from('4'))
  assert.equal(queue.droppedByQueue, 4)
})

test('a stop sends what is queued', async () => {
  const { queue } = queueOf([])
  queue.add(Buffer.from('1'))
  await queue.stop(1_000)
  assert.deepEqual([queue.exported, queue.droppedByQueue], [1, 0])
})
