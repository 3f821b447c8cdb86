import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type LogPage, pageOf } from './log-page.ts'
import { PageCache } from './page-cache.ts'

function page(sessionId: string, first: number, text = ''): LogPage {
  const content = [{ type: 'text', text }]
  const event = { id: `evt_${first}`, type: 'agent.message', processed_at: '', seq: first, content } as const
  const made = pageOf(sessionId, [event])
  assert.ok(made)
  return made
}

test('V2: the pages of all sessions together stay below the limit, and the oldest are evicted first', () => {
  const cache = new PageCache(100_000)
  for (let at = 0; at < 50; at++) cache.add(page(`ses_${at}`, 1, 'x'.repeat(9_000)))
  assert.ok(cache.bytes <= 100_000)
  assert.equal(cache.find('ses_0', 1), undefined)
  assert.ok(cache.find('ses_49', 1))
})

test('V2: a page that exceeds the limit stays until the next one', () => {
  const cache = new PageCache(1_000)
  cache.add(page('a', 1, 'x'.repeat(5_000)))
  assert.ok(cache.find('a', 1))
  cache.add(page('a', 2))
  assert.equal(cache.find('a', 1), undefined)
})

test('a session without readers leaves no pages', () => {
  const cache = new PageCache()
  for (let at = 0; at < 100; at++) cache.add(page('a', at))
  cache.forget('a')
  assert.equal(cache.bytes, 0)
})
