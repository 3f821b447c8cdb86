import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { buildConsole } from '../../scripts/console-build.ts'
import type { UsageFigures } from '../../src/contract/usage.ts'
import { webFolder } from '../../src/server/console/build-list.ts'
import { openConsole } from '../support/console/browser.ts'
import { startPricedService } from '../support/keys/priced-service.ts'
import { eventually } from '../support/service/eventually.ts'

buildConsole(webFolder)
const { service, key, ok, request } = await startPricedService({ hasConsole: true })
const { key: secret } = await key({ label: 'Report writer', owner_id: 'ada' })
for (const model of ['priced', 'priced', 'unpriced']) assert.equal((await request(secret, { model })).status, 200)
/** The ledger books calls right after their end. */
const totals = await eventually(async () => {
  const report = await ok<{ readonly totals: UsageFigures }>('GET /api/usage?group_by=model')
  return report.totals.requests === 3 && report.totals
})

test('the totals of the usage page are those of the report, and its CSV has the groups', async t => {
  const { page } = await openConsole(t, { service, path: '/console/usage' })
  const table = page.getByRole('table', { name: 'Usage by model' })
  const total = table.getByRole('row').filter({ has: page.getByRole('rowheader', { name: 'Total' }) })
  await total.waitFor()
  const [requests, errors, input, , , output, cost, unpriced] = await total.getByRole('cell').allTextContents()
  const exactCost = await total.locator('[title]').getAttribute('title')
  assert.deepEqual(
    { requests, errors, input, output, cost, exactCost, unpriced },
    {
      requests: '3',
      errors: '0',
      input: totals.input_tokens.toLocaleString('en-US'),
      output: totals.output_tokens.toLocaleString('en-US'),
      cost: '$0.20',
      exactCost: `$${totals.cost_usd}`,
      unpriced: '1',
    },
  )

  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Save CSV of usage by model' }).click()
  const file = await download
  assert.match(file.suggestedFilename(), /^usage-by-model\.csv$/)
  const [head = '', ...rows] = (await readFile(await file.path(), 'utf8')).trim().split(/\r?\n/)
  assert.match(head, /^model,/)
  assert.deepEqual(rows.map(row => row.split(',')[0]).sort(), ['priced', 'unpriced'])
})

test('the log lists each call, and the open call its tokens and cost', async t => {
  const { page } = await openConsole(t, { service, path: '/console/logs' })
  const calls = page.getByRole('table', { name: 'Model calls' }).getByRole('row').filter({ hasText: 'Report writer' })
  await calls.nth(2).waitFor()
  assert.equal(await calls.count(), 3)
  await calls.filter({ hasText: '$0.10' }).first().click()
  const panel = page.getByRole('complementary', { name: 'Call of priced' })
  await panel.getByText('$0.1', { exact: false }).first().waitFor()
})

test('settings, keys and logs show no secret', async t => {
  const { page } = await openConsole(t, { service, path: '/console/settings' })
  for (const [path, text] of [
    ['/console/settings', 'set (secret)'],
    ['/console/models', 'priced'],
    ['/console/keys', 'Report writer'],
  ] as const) {
    await page.goto(`${service.url}${path}`)
    await page.getByText(text).first().waitFor()
    const content = await page.content()
    for (const hidden of [service.key, secret, 'sk-upstream'])
      assert.ok(!content.includes(hidden), `${path}: ${hidden}`)
  }
})
