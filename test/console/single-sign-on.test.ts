import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Team } from '../../src/contract/teams.ts'
import { startConsole } from '../support/console/browser.ts'
import { launchChromium } from '../support/service/chromium.ts'
import { sendOk } from '../support/service/send.ts'
import { startProvider } from '../support/sign-in/identity-provider.ts'

const provider = await startProvider()
const service = await startConsole({
  config: JSON.stringify({
    outbound: { allow: [provider.host] },
    sign_in: {
      oidc: {
        issuer: provider.issuer,
        name: 'Acme',
        client_id: provider.clientId,
        client_secret: provider.clientSecret,
        claims: { groups: 'groups' },
        roles: { admin: ['ops'], member: ['*'] },
      },
    },
  }),
})
provider.allow(`${service.url}/oauth/sign-in/callback`)
provider.hasForm = true

test('a person signs in at the provider, acts as a team, manages users as an administrator, and signs out', async t => {
  const browser = await launchChromium()
  t.after(() => browser.close())
  const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage()
  page.setDefaultTimeout(20_000)
  const faults: string[] = []
  page.on('pageerror', error => faults.push(error.message))

  const team = await sendOk<Team>(service, 'POST /api/teams', { body: { name: 'Data', group: 'data' } })
  const claims = { name: 'Ada Lovelace', email: 'ada@acme.example', email_verified: true, groups: ['ops', 'data'] }
  provider.person = { sub: 'ada', claims }

  await page.goto(service.url)
  await page.getByRole('button', { name: /Sign in with\s*Acme/ }).click()
  await page.getByRole('button', { name: 'Continue' }).click()
  const menu = page.getByRole('navigation', { name: 'Pages' })
  await menu.waitFor()
  assert.equal(new URL(page.url()).origin, service.url)

  await page.getByRole('button', { name: 'Account' }).click()
  await page.getByText('Ada Lovelace · administrator').waitFor()
  await page.keyboard.press('Escape')

  await menu.getByRole('link', { name: 'Users' }).click()
  await page.getByText('ada@acme.example').waitFor()
  await page.getByRole('button', { name: 'Create user' }).first().click()
  const form = page.getByRole('complementary', { name: 'Create user' })
  await form.getByLabel('Name').fill('Grace Hopper')
  await form.getByRole('button', { name: 'Create user' }).click()
  const panel = page.getByRole('complementary', { name: 'Grace Hopper' })
  await panel.getByRole('button', { name: 'Disable user' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Disable user' }).click()
  await panel.getByText('disabled').waitFor()
  await panel.getByRole('button', { name: 'Enable user' }).click()
  await panel.getByText('active').waitFor()

  await page.goto(`${service.url}/console/teams?open=${team.id}`)
  const members = page.getByRole('complementary', { name: 'Data' })
  await members.getByText('admin, by group').waitFor()
  await members.getByLabel('Add a user').fill('grace')
  await page.getByRole('option', { name: 'Grace Hopper' }).click()
  await members.getByRole('button', { name: 'Add', exact: true }).click()
  await members.getByRole('button', { name: 'Remove Grace Hopper' }).waitFor()

  await page.getByRole('button', { name: 'Account' }).click()
  await page.getByRole('menuitem', { name: 'Data' }).click()
  await page.getByRole('button', { name: 'Account' }).click()
  await page.getByRole('menuitem', { name: 'Data' }).and(page.locator('[aria-current="true"]')).waitFor()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByLabel('API key').waitFor()
  await page.reload()
  await page.getByLabel('API key').waitFor()
  assert.deepEqual(faults, [])
})

test('a person whom the service does not accept reads why, and returns to the sign-in page', async t => {
  const browser = await launchChromium()
  t.after(() => browser.close())
  const page = await browser.newPage()
  const user = await sendOk<{ id: string }>(service, 'POST /api/users', {
    body: { name: 'Bob', email: 'bob@acme.example' },
  })
  await sendOk(service, `PATCH /api/users/${user.id}`, { body: { is_disabled: true } })
  provider.person = { sub: 'bob', claims: { name: 'Bob', email: 'bob@acme.example', email_verified: true, groups: [] } }
  await page.goto(service.url)
  await page.getByRole('button', { name: /Sign in with\s*Acme/ }).click()
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('heading', { name: 'Sign-in failed' }).waitFor()
  await page.getByText('your user is disabled').waitFor()
  await page.getByRole('link', { name: 'Back to the sign-in page' }).click()
  await page.getByLabel('API key').waitFor()
})
