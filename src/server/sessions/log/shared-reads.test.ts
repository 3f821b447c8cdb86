import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type FeedPage, firstPlace, type Place } from './feed-store.ts'
import { createSharedReads } from './shared-reads.ts'

const all = { owner: undefined, agentId: undefined, metadata: undefined }

function rig() {
  const reads: Place[] = []
  const page = async (after: Place): Promise<FeedPage> => {
    reads.push(after)
    return { events: [], reached: after, hasMore: false, hasUnsettled: false }
  }
  return { reads, shared: createSharedReads({ page }) }
}

test('readers that request the same page in one turn of the event loop share one query', async () => {
  const { reads, shared } = rig()
  const pages = await Promise.all(Array.from({ length: 100 }, () => shared.page(firstPlace, all)))
  assert.equal(reads.length, 1)
  assert.ok(pages.every(page => page === pages[0]))
})

test('a reader that requests later, from another position or with another filter gets a separate query', async () => {
  const { reads, shared } = rig()
  const other = { ...firstPlace, xid: '7' }
  const filters = [all, { ...all, owner: 'ada' }, { ...all, agentId: 'a' }, { ...all, metadata: { team: 'a' } }]
  await Promise.all([...filters.map(filter => shared.page(firstPlace, filter)), shared.page(other, all)])
  assert.equal(reads.length, filters.length + 1)
  await shared.page(firstPlace, all)
  assert.equal(reads.length, filters.length + 2)
})

test('a failed query rejects for all its readers, and the next one is made', async () => {
  let isUnreachable = true
  const shared = createSharedReads({
    page: async after => {
      if (isUnreachable) throw new Error('unreachable')
      return { events: [], reached: after, hasMore: false, hasUnsettled: false }
    },
  })
  const results = await Promise.allSettled([shared.page(firstPlace, all), shared.page(firstPlace, all)])
  assert.deepEqual(
    results.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  isUnreachable = false
  assert.equal((await shared.page(firstPlace, all)).hasMore, false)
})
