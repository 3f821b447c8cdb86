import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildConsole } from '../../scripts/console-build.ts'
import { webFolder } from '../../src/server/console/build-list.ts'
import { openConsole, signIn } from '../support/console/browser.ts'
import { startPricedService } from '../support/keys/priced-service.ts'

buildConsole(webFolder)
const { service, key, ok, request } = await startPricedService({ hasConsole: true })

test('a key is created with a budget and shown once; after 402 its budget is raised, and the next call passes', async t => {
  const { page } = await openConsole(t, { service, path: '/console/keys' })
  await page.getByRole('button', { name: 'Create API key' }).first().click()
  const form = page.getByRole('complementary', { name: 'Create API key' })
  await form.getByLabel('Label').fill('Report writer')
  await form.getByRole('textbox', { name: 'Budget' }).fill('0.1')
  await form.getByText(/^This key may call every model, spend \$0\.10/).waitFor()
  await form.getByRole('button', { name: 'Create API key' }).click()

  const dialog = page.getByRole('dialog', { name: 'API key “Report writer”' })
  const secret = (await dialog.getByTestId('secret').textContent()) ?? ''
  assert.match(secret, /^sk-/)
  assert.ok(await dialog.getByRole('button', { name: 'Close', exact: true }).isDisabled())
  await dialog.getByLabel('I have saved it').check()
  await dialog.getByRole('button', { name: 'Close', exact: true }).click()
  const panel = page.getByRole('complementary', { name: 'Report writer' })
  await panel.getByText('active').waitFor()
  assert.ok(!(await page.content()).includes(secret))

  assert.equal((await request(secret)).status, 200)
  assert.equal((await request(secret)).status, 402)
  await page.reload()
  await panel.getByText('budget used up').waitFor()
  await panel.getByRole('meter', { name: 'Budget' }).and(page.locator('[data-state="used"]')).waitFor()

  await panel.getByRole('button', { name: 'Raise budget' }).click()
  await page.getByRole('menuitem', { name: 'Raise to $0.50' }).click()
  await panel.getByText('of $0.50').waitFor()
  assert.equal((await request(secret)).status, 200)
})

test('the address of a budget that is not set offers to set it for that owner', async t => {
  const { page } = await openConsole(t, { service, path: '/console/budgets?open=owner%2Fgrace', expected: /404/ })
  await page.getByText('No budget is set here').waitFor()
  await page.getByRole('complementary').getByRole('button', { name: 'Set budget' }).click()
  const form = page.getByRole('complementary', { name: 'Set budget' })
  assert.equal(await form.getByRole('textbox', { name: 'Owner' }).inputValue(), 'grace')
  await form.getByRole('textbox', { name: 'Limit' }).fill('5')
  await form.getByRole('button', { name: 'Set budget' }).click()

  await page.getByRole('complementary', { name: 'Budget of owner grace' }).getByText('of $5').waitFor()
})

test('a user key signs in to the pages of its owner only, and signs out', async t => {
  const agent = (name: string, owner_id: string) =>
    ok('POST /api/agents', { body: { name, owner_id, model: 'priced' } })
  await Promise.all([agent('Agent of Ada', 'ada'), agent('Agent of Grace', 'grace')])
  const { key: secret } = await key({ label: 'Ada', owner_id: 'ada' })
  const { page } = await openConsole(t, { service, key: secret, path: '/console/agents' })
  await page.getByText('Agent of Ada').first().waitFor()
  assert.equal(await page.getByText('Agent of Grace').count(), 0)
  const menu = page.getByRole('navigation', { name: 'Pages' })
  await menu.getByRole('link', { name: 'Sessions' }).waitFor()
  for (const name of ['API keys', 'Budgets', 'Audit', 'Settings'])
    assert.equal(await menu.getByRole('link', { name }).count(), 0, name)

  await page.goto(`${service.url}/console/keys`)
  await page.getByText('Your key may not see this page').waitFor()

  await page.getByRole('button', { name: 'Account' }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByLabel('API key').waitFor()
  await page.reload()
  await signIn(page, service.key)
  await page.goto(`${service.url}/console/agents`)
  await page.getByText('Agent of Grace').first().waitFor()
})
