import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Locator, Page, Route } from 'playwright-core'
import { type ErrorCode, statusOfCode } from '../../src/contract/error-codes.ts'
import { errorHelp } from '../../src/contract/error-help.ts'
import { openConsole, startConsole } from '../support/console/browser.ts'
import { type ConsolePage, pagesOfMenu } from '../support/console/console-pages.ts'
import { overflowOf, violationsOfThemes } from '../support/console/page-checks.ts'
import { eventually } from '../support/service/eventually.ts'

const service = await startConsole()

/** Requests of a page for its data, and not those of the frame: who has signed in, and the overview of the service. */
const isOfPage = ({ pathname }: URL): boolean =>
  /^\/(api|v1|session|mcp)\//.test(pathname) && !/^\/api\/(me|overview)$/.test(pathname)

/** Returns the pages of the menu that load data of their own. */
const pagesWithData = async (page: Page): Promise<readonly ConsolePage[]> =>
  (await pagesOfMenu(page)).filter(({ path }) => path !== '/')

const shows = (locator: Locator): Promise<boolean> =>
  locator.waitFor().then(
    () => true,
    () => false,
  )

/** Returns what is wrong with the state of a page: title, accessibility, width. */
async function checked(page: Page, { name, title }: ConsolePage, state: string): Promise<readonly string[]> {
  const faults = [...(await violationsOfThemes(page))]
  const heading = await page.locator('h1').first().textContent()
  if (heading !== title) faults.push(`${heading} instead of ${title}`)
  for (const [width, height] of [
    [390, 844],
    [1440, 900],
  ] as const) {
    await page.setViewportSize({ width, height })
    faults.push(...(await overflowOf(page)))
  }
  return faults.map(fault => `${name}, ${state}: ${fault}`)
}

test('U05: while its data is on the way, a page shows its title and placeholders, then the data', async t => {
  const { page } = await openConsole(t, { service, isReducedMotion: true })
  page.setDefaultTimeout(5_000)
  const faults: string[] = []
  for (const each of await pagesWithData(page)) {
    const gate = Promise.withResolvers<void>()
    const hold = async (route: Route) => {
      await gate.promise
      await route.continue().catch(() => undefined)
    }
    await page.route(isOfPage, hold)
    await page.goto(`${service.url}${each.path}`)
    const isLoading = await shows(page.locator('main [aria-busy=true] > *').first())
    // The playground is a form that can be filled in meanwhile.
    if (!isLoading && each.name !== 'playground') faults.push(`${each.name}: no placeholders`)
    faults.push(...(await checked(page, each, 'loading')))
    gate.resolve()
    await page.locator('main [aria-busy=true]').first().waitFor({ state: 'detached' })
    await page.unroute(isOfPage, hold)
  }
  assert.deepEqual(faults, [])
})

test('U05: a page without a connection says what failed and what to do, and loads when it is tried again', async t => {
  const { page } = await openConsole(t, { service, isReducedMotion: true, isFaulty: true })
  page.setDefaultTimeout(5_000)
  const faults: string[] = []
  for (const each of await pagesWithData(page)) {
    const cut = (route: Route) => route.abort('connectionrefused')
    await page.route(isOfPage, cut)
    await page.goto(`${service.url}${each.path}`)
    const problem = page.locator('main [role=alert]').first()
    const isExplained = await shows(problem.getByText(/cannot reach the service/i))
    if (!isExplained) faults.push(`${each.name}: no error`)
    faults.push(...(await checked(page, each, 'error')))
    await page.unroute(isOfPage, cut)
    const retry = page.locator('main').getByRole('button', { name: 'Try again' })
    const isOver = await eventually(async () => {
      if ((await retry.count()) === 0) return true
      await retry
        .first()
        .click({ timeout: 1_000 })
        .catch(() => undefined)
      return false
    }).catch(() => false)
    if (!isOver) faults.push(`${each.name}: the error stays`)
  }
  assert.deepEqual(faults, [])
})

test('U09: an error of each code shows cause, next step and a request id to copy, and nothing else of its answer', async t => {
  const { page } = await openConsole(t, { service, isFaulty: true, expected: /status of [45]/ })
  for (const code of Object.keys(errorHelp) as ErrorCode[]) {
    // The page of a lost sign-in has its own test, and 403 and 404 have their own blocks.
    if ([401, 403, 404].includes(statusOfCode(code))) continue
    const answer = (route: Route) =>
      route.fulfill({
        status: statusOfCode(code),
        headers: { 'request-id': `req_of_${code}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          error: {
            code,
            message: `What happened with ${code}`,
            type: 'x',
            stack: 'at secret.ts:1',
            detail: 'sk-hidden',
          },
        }),
      })
    await page.route('**/api/v1/skills*', answer)
    await page.goto(`${service.url}/console/skills`)
    const problem = page.locator('main [role=alert]').first()
    await problem.waitFor({ timeout: 60_000 })
    await assertExplained(problem, code)
    await page.unroute('**/api/v1/skills*', answer)
  }
})

async function assertExplained(problem: Locator, code: ErrorCode): Promise<void> {
  const text = (await problem.textContent()) ?? ''
  const { cause, nextStep } = errorHelp[code]
  for (const part of [`What happened with ${code}`, cause, nextStep.replaceAll('`', ''), `req_of_${code}`])
    assert.ok(text.includes(part), `${code}: "${part}" is not in "${text}"`)
  assert.doesNotMatch(text, /secret\.ts|sk-hidden/)
  await problem.getByRole('button', { name: 'Copy request id' }).waitFor()
}
