import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type FeedPage, firstPlace, type Place } from './feed-store.ts'
import { createSharedLooks } from './shared-looks.ts'

const all = { owner: undefined, agentId: undefined, metadata: undefined }

function rig() {
  const looks: Place[] = []
  const page = async (after: Place): Promise<FeedPage> => {
    looks.push(after)
    return { events: [], reached: after, hasMore: false, isHeldBack: false }
  }
  return { looks, shared: createSharedLooks({ page }) }
}

test('readers that ask for the same page in one turn share one look at the database', async () => {
  const { looks, shared } = rig()
  const pages = await Promise.all(Array.from({ length: 100 }, () => shared.page(firstPlace, all)))
  assert.equal(looks.length, 1)
  assert.ok(pages.every(page => page === pages[0]))
})

test('a reader that asks later, from another place or with another filter gets a look of its own', async () => {
  const { looks, shared } = rig()
  const other = { ...firstPlace, xid: '7' }
  const filters = [all, { ...all, owner: 'ada' }, { ...all, agentId: 'a' }, { ...all, metadata: { team: 'a' } }]
  await Promise.all([...filters.map(filter => shared.page(firstPlace, filter)), shared.page(other, all)])
  assert.equal(looks.length, filters.length + 1)
  await shared.page(firstPlace, all)
  assert.equal(looks.length, filters.length + 2)
})

test('all readers hear of a look that fails, and the next one is made', async () => {
  let isAway = true
  const shared = createSharedLooks({
    page: async after => {
      if (isAway) throw new Error('away')
      return { events: [], reached: after, hasMore: false, isHeldBack: false }
    },
  })
  const results = await Promise.allSettled([shared.page(firstPlace, all), shared.page(firstPlace, all)])
  assert.deepEqual(
    results.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  isAway = false
  assert.equal((await shared.page(firstPlace, all)).hasMore, false)
})
