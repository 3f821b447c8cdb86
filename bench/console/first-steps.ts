import type { Page } from 'playwright-core'
import type { BenchCase, Figure } from '../bench-case.ts'
import { withConsole } from './open-console.ts'

/** What a new person does with the browser alone, one after the other, beginning with an empty service. */
const steps: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  'first answer': async page => {
    for (const name of ['Use the demo model (scripted answers)', 'Create agent', 'Start session'])
      await page.getByRole('button', { name }).click()
    await page
      .getByText(/^done$/)
      .first()
      .waitFor()
  },
  'key for a team mate': async page => {
    await openPage(page, 'API keys')
    await page.getByRole('button', { name: 'Create API key' }).first().click()
    const form = page.getByRole('complementary', { name: 'Create API key' })
    await form.getByLabel('Label').fill('Grace, laptop')
    await form.getByLabel('Owner').fill('grace')
    await form.getByRole('textbox', { name: 'Budget' }).fill('20')
    await form.getByRole('button', { name: 'Create API key' }).click()
    await closeSecret(page)
    await page.getByRole('complementary', { name: 'Grace, laptop' }).getByText('active').waitFor()
  },
  'webhook with a test delivery': async page => {
    await openPage(page, 'Webhooks')
    await page.getByRole('button', { name: 'Set up webhook' }).first().click()
    await page.getByRole('combobox', { name: 'Agent that gets the deliveries' }).click()
    await page.getByRole('option').first().click()
    await page.getByText('Generate secret', { exact: true }).click()
    await page.getByRole('button', { name: 'Save webhook' }).click()
    await closeSecret(page)
    await page.getByRole('button', { name: 'Send test delivery' }).click()
    await page.getByText('a sender would be accepted').waitFor()
  },
  'approved tool call': async page => {
    await openPage(page, 'Agents')
    await page.getByRole('button', { name: 'Create agent' }).first().click()
    const form = page.getByRole('dialog', { name: 'Create agent' })
    await form.getByRole('radio', { name: /Reviewer with approvals/ }).click()
    await form.getByRole('button', { name: 'Create agent' }).click()
    await page.getByRole('button', { name: 'Try agent' }).click()
    const trial = page.getByRole('complementary', { name: /^Try / })
    await trial.getByLabel('First prompt').fill('Create note.txt saying "hello".')
    await trial.getByRole('button', { name: 'Start session' }).click()
    await openPage(page, 'Inbox')
    await page.locator('button:not([aria-disabled="true"])', { hasText: 'Approve call' }).click()
    await page
      .getByText(/No (calls|approvals)|Nothing waits/)
      .first()
      .waitFor()
  },
}

const openPage = (page: Page, name: string): Promise<void> =>
  page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).click()

async function closeSecret(page: Page): Promise<void> {
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('I have saved it').check()
  await dialog.getByRole('button', { name: 'Close', exact: true }).click()
}

/** Runs in the page: counts what a person clicks. */
const countClicks = `window.clicks = 0; addEventListener('click', ({ isTrusted }) => { if (isTrusted) window.clicks++ }, { capture: true })`

/** What a new person needs for the first steps. A program fills in the fields at once, so seconds are those of the service. */
export const firstSteps: BenchCase = {
  name: 'first-steps',
  title:
    'clicks and seconds of a new person with the browser alone, from the first page of an empty service on; fields are filled in at once',
  run: ({ folder }) =>
    withConsole(folder, async ({ open }) => {
      const page = await open('/')
      page.setDefaultTimeout(30_000)
      await page.getByRole('navigation', { name: 'Pages' }).waitFor()
      await page.evaluate(countClicks)
      const figures: Figure[] = []
      for (const [name, take] of Object.entries(steps)) {
        const [startedAt, before] = [performance.now(), await page.evaluate<number>('window.clicks')]
        await take(page)
        const clicks = (await page.evaluate<number>('window.clicks')) - before
        figures.push({ name: `${name}, clicks`, value: clicks, unit: '', target: 12 })
        figures.push({ name: `${name}, time`, value: (performance.now() - startedAt) / 1_000, unit: 's', target: 90 })
      }
      return figures
    }),
}
