import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unlimited } from './fields.ts'
import { exceededLimit } from './strength.ts'

const inADay = new Date(Date.now() + 86_400_000)
const inAWeek = new Date(Date.now() + 7 * 86_400_000)
const own = {
  ...unlimited,
  owner_id: 'ada',
  models: ['sonnet', 'openai/*'],
  passthrough: ['openai' as const],
  mcp_servers: ['files', 'mail'],
  mcp_tools: { files: ['read', 'list'] },
  expires_at: inADay,
  max_usd: '10.5',
  duration: '30d',
  rpm_limit: 60,
  tpm_limit: 1_000,
  max_parallel: 2,
}

const cases: readonly (readonly [guarantee: string, changes: Partial<typeof own>, field: string | undefined])[] = [
  ['an equal key', {}, undefined],
  ['another owner', { owner_id: 'bob' }, 'owner_id'],
  ['all owners', { owner_id: null as never }, 'owner_id'],
  ['fewer models', { models: ['sonnet'] }, undefined],
  ['a model of its provider', { models: ['openai/gpt-5'] }, undefined],
  ['the same wildcard', { models: ['openai/*'] }, undefined],
  ['a narrower wildcard', { models: ['openai/gpt-*'] }, undefined],
  ['one model more', { models: ['sonnet', 'opus'] }, 'models'],
  ['a wider wildcard', { models: ['openai*'] }, 'models'],
  ['all models', { models: [] }, 'models'],
  ['no provider’s API', { passthrough: [] }, undefined],
  ['another provider’s API', { passthrough: ['anthropic'] as never }, 'passthrough'],
  ['fewer MCP servers', { mcp_servers: [] }, undefined],
  ['another MCP server', { mcp_servers: ['files', 'chat'] }, 'mcp_servers'],
  ['all MCP servers', { mcp_servers: null as never }, 'mcp_servers'],
  ['fewer tools', { mcp_tools: { files: ['read'], mail: ['send'] } as never }, undefined],
  ['another tool', { mcp_tools: { files: ['write'] } }, 'mcp_tools'],
  ['all tools of a server', { mcp_tools: {} as never }, 'mcp_tools'],
  ['all tools', { mcp_tools: null as never }, 'mcp_tools'],
  ['a later expiry', { expires_at: inAWeek }, 'expires_at'],
  ['no expiry', { expires_at: null as never }, 'expires_at'],
  ['a smaller budget', { max_usd: '10.499' }, undefined],
  ['a larger budget', { max_usd: '10.51' }, 'max_budget'],
  ['no budget', { max_usd: null as never }, 'max_budget'],
  ['a budget with a shorter period', { max_usd: '1', duration: '1d' }, 'budget_duration'],
  ['a budget with a longer period', { duration: '60d' }, undefined],
  ['a budget that is never reset', { duration: null as never }, undefined],
  ['more requests', { rpm_limit: 61 }, 'rpm_limit'],
  ['any number of tokens', { tpm_limit: null as never }, 'tpm_limit'],
  ['more concurrent calls', { max_parallel: 3 }, 'max_parallel_requests'],
]
for (const [guarantee, changes, field] of cases) {
  test(`S08: ${guarantee}: ${field === undefined ? 'no field exceeds the own key' : `${field} exceeds the own key`}`, () => {
    assert.equal(exceededLimit({ ...own, ...changes }, own)?.field, field)
  })
}

test('S08: only passthrough, which must be granted by name, can exceed a key without limits', () => {
  assert.equal(exceededLimit(unlimited, unlimited), undefined)
  assert.equal(exceededLimit(own, unlimited)?.field, 'passthrough')
  assert.equal(exceededLimit({ ...own, passthrough: [] }, unlimited), undefined)
})

test('S08: a budget with a period exceeds one that is never reset', () => {
  const life = { ...unlimited, max_usd: '10' }
  assert.equal(exceededLimit({ ...life, duration: '9999mo' }, life)?.field, 'budget_duration')
})

for (const [changes, limit] of [
  [{ owner_id: 'bob' }, 'ada'],
  [{ models: ['opus'] }, 'allowed: sonnet, openai/*'],
  [{ mcp_tools: { files: ['write'] } }, 'allowed: files/read, files/list'],
  [{ expires_at: inAWeek }, inADay.toISOString()],
  [{ max_usd: '11' }, '10.50 USD'],
  [{ duration: '1d' }, '30d'],
  [{ tpm_limit: 2_000 }, '1000 tokens per minute'],
  [{ max_parallel: 3 }, '2'],
] as const) {
  test(`names the exceeded limit: ${limit}`, () => {
    assert.equal(exceededLimit({ ...own, ...(changes as Partial<typeof own>) }, own)?.limit, limit)
  })
}

test('names exact amounts and empty lists', () => {
  assert.equal(exceededLimit({ ...own, max_usd: '1' }, { ...own, max_usd: '0.00001' })?.limit, '0.00001 USD')
  assert.equal(exceededLimit(own, { ...own, passthrough: [] })?.limit, 'allowed: none')
})
