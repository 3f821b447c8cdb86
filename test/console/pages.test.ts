import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { openConsole } from '../support/console/browser.ts'
import { type ConsolePage, emptyForms, pagesOfMenu, pagesOfObjects, visit } from '../support/console/console-pages.ts'
import { type FullService, fill, startEmptyService } from '../support/console/full-service.ts'
import { overflowOf, violationsOfThemes } from '../support/console/page-checks.ts'
import { send } from '../support/service/send.ts'

const empty = await startEmptyService()
const { service } = empty
let filled: FullService | undefined

/** Opens a page once and checks its title, its width at three sizes of screen, and its accessibility in both themes. */
async function faultsOf(page: Page, each: ConsolePage): Promise<readonly string[]> {
  const faults: string[] = []
  const note = (where: string, found: readonly string[]) =>
    faults.push(...found.map(fault => `${each.name}, ${where}: ${fault}`))
  await page.setViewportSize({ width: 1440, height: 900 })
  await visit(page, service.url, each)
  const heading = await page.locator('h1, h2').first().textContent()
  if (each.title !== undefined && heading !== each.title) note('title', [`${heading} instead of ${each.title}`])
  note('1440 px', await overflowOf(page))
  note('accessibility', await violationsOfThemes(page))
  for (const [width, height, where] of [
    [640, 450, '1280 px at 200 %'],
    [390, 844, '390 px'],
  ] as const) {
    await page.setViewportSize({ width, height })
    await page.waitForTimeout(100)
    note(where, await overflowOf(page))
  }
  return faults
}

async function faultsOfAll(page: Page, pages: readonly ConsolePage[]): Promise<readonly string[]> {
  const faults: string[] = []
  for (const each of pages) faults.push(...(await faultsOf(page, each)))
  return faults
}

test('every page of an empty service has its title, fits in 390 to 1440 px and at 200 %, and is accessible in both themes', async t => {
  const { page } = await openConsole(t, { service, isReducedMotion: true, expected: /404/ })
  const pages = await pagesOfMenu(page)
  // The overview of a new installation shows the first steps.
  const titled = pages.map(each => (each.path === '/' ? { ...each, title: 'Set up Switchyard' } : each))
  assert.deepEqual(await faultsOfAll(page, [...titled, ...emptyForms]), [])
})

test('every page of a full service has its title, fits in 390 to 1440 px and at 200 %, and is accessible in both themes', async t => {
  filled = await fill(empty)
  const { page } = await openConsole(t, { service, isReducedMotion: true })
  assert.deepEqual(await faultsOfAll(page, await pagesOfMenu(page)), [])
})

test('pages of objects, panels, forms and tabs fit in 390 to 1440 px and at 200 %, and are accessible in both themes', async t => {
  const full = filled ?? (await fill(empty))
  const { page } = await openConsole(t, { service, isReducedMotion: true })
  assert.deepEqual(await faultsOfAll(page, pagesOfObjects(full)), [])
})

test('a link from a panel to the panel of another page requests no object of the one kind by the id of the other', async t => {
  const full = filled ?? (await fill(empty))
  const { page } = await openConsole(t, { service, path: `/console/teams?open=${full.team}` })
  const requested: string[] = []
  page.on('request', request => requested.push(new URL(request.url()).pathname))
  await page.getByRole('complementary', { name: 'Data' }).getByRole('link', { name: 'Budget' }).click()
  await page.getByRole('complementary', { name: 'Budget of team' }).getByText('Calls in flight').waitFor()
  assert.deepEqual(
    requested.filter(path => path.startsWith('/api/teams/team%2F')),
    [],
  )
})

test('the key of a user finds no page of administrators in the menu, and none is loaded at its address', async t => {
  const { page } = await openConsole(t, { service })
  const all = await pagesOfMenu(page)
  const created = await send(service, 'POST /api/keys', { body: { label: 'Bo', owner_id: 'bo' } })
  const { page: user } = await openConsole(t, { service, key: created.json<{ key: string }>().key })
  const offered = new Set((await pagesOfMenu(user)).map(({ path }) => path))
  const ofAdministrators = all.filter(({ path }) => !offered.has(path))
  assert.deepEqual(
    ofAdministrators.map(({ title }) => title),
    ['Models and providers', 'Runtimes', 'API keys', 'Users', 'Teams', 'Budgets', 'Audit', 'Settings'],
  )
  for (const each of ofAdministrators) {
    await visit(user, service.url, each)
    await user.getByRole('heading', { name: 'Your key may not see this page' }).waitFor()
  }
})
