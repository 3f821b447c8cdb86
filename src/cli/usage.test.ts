import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runLine, scriptedService } from '../../test/support/service/command-line.ts'

const figures = {
  requests: 1_200,
  input_tokens: 1_000_000,
  cache_read_tokens: 5,
  cache_write_5m_tokens: 6,
  cache_write_1h_tokens: 7,
  output_tokens: 8,
  reasoning_tokens: 0,
  web_searches: 0,
  cost_usd: '0.000000000001',
  unpriced_requests: 0,
  estimated_requests: 0,
  first_content_ms: { p50: null, p95: null },
  total_ms: { p50: 1, p95: 2 },
}
const report = {
  from: '2026-01-01T00:00:00.000Z',
  to: '2026-01-31T12:30:00.000Z',
  timezone: 'UTC',
  group_by: ['model'],
  totals: { ...figures, unpriced_requests: 2 },
  groups: [
    { by: { model: 'big\u001b[2J' }, ...figures },
    { by: { model: null }, ...figures, requests: 2, cost_usd: null, unpriced_requests: 2 },
  ],
  has_more: false,
}

test('usage shows the calls of the last 30 days by model, with the total, and states unknown prices', async () => {
  const { fetch, seen } = scriptedService({ 'GET /api/usage': () => Response.json(report) })
  const { code, stdout, stderr } = await runLine(['usage'], { fetch })
  assert.equal(code, 0)
  assert.equal(stderr, '')
  assert.equal(seen[0]?.call, 'GET /api/usage?group_by=model')
  assert.deepEqual(stdout.split('\n'), [
    '2026-01-01 00:00 UTC to 2026-01-31 12:30 UTC (UTC)',
    'MODEL  REQUESTS  INPUT      CACHE READ  CACHE WRITE  OUTPUT  COST (USD)',
    'big    1,200     1,000,000  5           13           8       0.000000000001',
    '-      2         1,000,000  5           13           8       2 without a known price',
    'total  1,200     1,000,000  5           13           8       0.000000000001 + 2 without a known price',
    '',
  ])
})

test('usage sends its options, and --json prints the report unchanged', async () => {
  const { fetch, seen } = scriptedService({ 'GET /api/usage': () => Response.json(report) })
  const options = ['--group-by', 'day,key', '--from', '2026-01-01', '--to', '2026-02-01', '--timezone', 'Europe/Berlin']
  const { stdout } = await runLine(['usage', ...options, '--json'], { fetch })
  assert.deepEqual(JSON.parse(stdout), report)
  const { searchParams } = new URL(`http://x${seen[0]?.call.slice(4)}`)
  assert.deepEqual(Object.fromEntries(searchParams), {
    group_by: 'day,key',
    from: '2026-01-01',
    to: '2026-02-01',
    timezone: 'Europe/Berlin',
  })
})

test('usage --csv prints the file of the service and cannot be combined with --json', async () => {
  const { fetch, seen } = scriptedService({
    'GET /api/usage': () => new Response('model,requests\r\nbig\u001b[2J,3\r\n'),
  })
  const { code, stdout } = await runLine(['usage', '--csv'], { fetch })
  assert.equal(code, 0)
  assert.equal(stdout, 'model,requests\nbig,3\n')
  assert.match(seen[0]?.call ?? '', /format=csv/)
  const both = await runLine(['usage', '--csv', '--json'], { fetch })
  assert.equal(both.code, 2)
  assert.match(both.stderr, /--csv/)
})

test('usage reports that more groups exist', async () => {
  const { fetch } = scriptedService({ 'GET /api/usage': () => Response.json({ ...report, has_more: true }) })
  assert.match((await runLine(['usage'], { fetch })).stderr, /Only 2 groups/)
})
