import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { openConsole, startConsole } from '../support/console/browser.ts'

const [first, second] = [await startConsole(), await startConsole()]

/** What a person does from signing in to the first answer. */
const steps = ['Use the demo model (scripted answers)', 'Create agent', 'Start session']

const answered = (page: Page): Promise<void> =>
  page
    .getByText(/^done$/)
    .first()
    .waitFor()

test('U01: from signing in to the first answer of an agent in at most 12 clicks, without a terminal', async t => {
  const { page, clicks } = await openConsole(t, { service: first })
  for (const name of steps) await page.getByRole('button', { name }).click()
  await answered(page)
  assert.ok((await clicks()) <= 12, `${await clicks()} clicks`)
})

test('U04: the same by keyboard alone', async t => {
  const { page } = await openConsole(t, { service: second })
  for (const name of steps) {
    await page.getByRole('button', { name }).waitFor()
    await tabTo(page, name)
    await page.keyboard.press('Enter')
  }
  await answered(page)
})

/** Presses the tab key until a button with that name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  const focused = page.locator(':focus')
  for (let presses = 0; presses < 100; presses++) {
    await page.keyboard.press('Tab')
    if ((await focused.count()) > 0 && ((await focused.textContent()) ?? '').includes(name)) return
  }
  assert.fail(`the tab key does not reach "${name}"`)
}
