import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { buildConsole } from '../../../scripts/console-build.ts'
import { webFolder } from '../../../src/server/console/build-list.ts'
import { launchChromium } from '../service/chromium.ts'
import { type Service, type ServiceOptions, startService } from '../service/service.ts'

let launched: Promise<Browser> | undefined
// Registered here, and not by the test that launches the browser: a hook of that test would close it before its screenshot.
after(async () => (await launched)?.close())

/** The browser of this process, which ends after the last test of the file. */
function launch(): Promise<Browser> {
  launched ??= launchChromium()
  return launched
}

/** Starts a service with the console, which is built first if its sources changed. */
export function startConsole(options: ServiceOptions = {}): Promise<Service> {
  buildConsole(webFolder)
  return startService({ ...options, hasConsole: true })
}

export interface OpenOptions {
  readonly service: Pick<Service, 'url' | 'key'>
  /** Where the console is opened when it is not the address of the service, such as a proxy. */
  readonly url?: string
  readonly path?: string
  /** Key to sign in with; that of the service by default, null signs in with none. */
  readonly key?: string | null
  readonly theme?: 'light' | 'dark'
  readonly width?: number
  readonly height?: number
  readonly isReducedMotion?: boolean
  /** True: requests may fail, because the test stops the service or cuts the network. */
  readonly isFaulty?: boolean
  /** Messages on the console of the browser that the test causes on purpose. */
  readonly expected?: RegExp
}

/** A page of the console under watch. */
export interface OpenConsole {
  readonly page: Page
  readonly context: BrowserContext
  /** Number of clicks so far. */
  clicks(): Promise<number>
}

/**
 * Opens the console in a new browser context and signs in. The test fails when the page logs an error, violates its policy,
 * opens a dialog or contacts another host.
 */
export async function openConsole(t: TestContext, options: OpenOptions): Promise<OpenConsole> {
  const { service, path = '/', theme = 'light', width = 1440, height = 900 } = options
  const base = options.url ?? service.url
  const browser = await launch()
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: options.isReducedMotion ? 'reduce' : 'no-preference',
    timezoneId: 'UTC',
    locale: 'en-GB',
  })
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  const complaints = watch(page, base, options)
  await page.addInitScript({ content: countClicks })
  t.after(async () => {
    if (!hasPassed(t))
      await page.screenshot({ path: join(tmpdir(), `${fileNameOf(t.name)}.png`) }).catch(() => undefined)
    await context.close()
    assert.deepEqual(complaints, [])
  })
  await page.goto(`${base}${path}`)
  const key = options.key === undefined ? service.key : (options.key ?? '')
  if (key !== '') await signIn(page, key)
  return {
    page,
    context,
    clicks: () => page.evaluate<number>(`Number(sessionStorage.getItem('clicks') ?? 0)`),
  }
}

/** Node reports this in hooks; its types do not know it yet. */
const hasPassed = (t: TestContext): boolean => (t as { readonly passed?: boolean }).passed === true

/** Name of the screenshot of a failed test, in the temporary folder of the system. */
const fileNameOf = (name: string): string => `switchyard-${name.replaceAll(/[^A-Za-z0-9]+/g, '-').slice(0, 80)}`

/** Signs in with a key on the page that asks for it. */
export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page
    .getByRole('navigation', { name: 'Pages' })
    .or(page.getByRole('button', { name: 'Open menu' }))
    .first()
    .waitFor()
}

/** Runs in the page: counts what a person clicks, also across loads. */
const countClicks = `addEventListener('click', ({ isTrusted }) => {
  if (isTrusted) sessionStorage.setItem('clicks', String(Number(sessionStorage.getItem('clicks') ?? 0) + 1))
}, { capture: true })`

/** Collects everything that must not happen on a page. */
function watch(page: Page, base: string, { isFaulty = false, expected }: OpenOptions): readonly string[] {
  const complaints: string[] = []
  const complain = (text: string) => {
    if (isFaulty && /Failed to load resource|net::ERR|Failed to fetch/.test(text)) return
    if (expected?.test(text) !== true) complaints.push(text)
  }
  page.on('console', message => {
    // A browser logs the answer to the question who has signed in.
    if (message.location().url.endsWith('/api/me') && message.text().includes('401')) return
    if (message.type() === 'error' || message.type() === 'warning') complain(message.text())
  })
  page.on('pageerror', error => complain(`uncaught: ${error.message}`))
  page.on('dialog', dialog => {
    complain(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', request => {
    const url = request.url()
    if (!url.startsWith(`${base}/`) && !/^(data|blob|about):/.test(url)) complain(`request to ${url}`)
  })
  return complaints
}
