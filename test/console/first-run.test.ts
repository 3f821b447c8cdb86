import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openConsole, startConsole } from '../support/console/browser.ts'

const service = await startConsole()

test('U01: from signing in to the first answer of an agent in at most 12 clicks, without a terminal', async t => {
  const { page, clicks } = await openConsole(t, { service })
  await page.getByRole('button', { name: 'Use the demo model (scripted answers)' }).click()
  await page.getByRole('button', { name: 'Create agent' }).click()
  await page.getByRole('button', { name: 'Start session' }).click()
  await page
    .getByText(/^done$/)
    .first()
    .waitFor()
  assert.ok((await clicks()) <= 12, `${await clicks()} clicks`)
})
