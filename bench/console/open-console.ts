import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { buildConsole } from '../../scripts/console-build.ts'
import { webFolder } from '../../src/server/console/build-list.ts'
import { startEmbeddedPostgres } from '../../src/server/db/embedded-postgres.ts'
import { createLog } from '../../src/server/platform/log.ts'
import { launchChromium } from '../../test/support/service/chromium.ts'
import { type Server, startServer } from '../server.ts'

/** A service with the console, and a browser. */
export interface Place {
  readonly server: Server
  readonly databaseUrl: string
  readonly browser: Browser
  /** Opens a page in a new context that has signed in, without anything in its caches. */
  open(path: string): Promise<Page>
}

/** Runs `use` with a service, its database and a browser, which end with it. */
export async function withConsole<T>(folder: string, use: (place: Place) => Promise<T>): Promise<T> {
  buildConsole(webFolder)
  const database = await startEmbeddedPostgres({ dataDir: join(folder, 'database'), log: createLog('silent') })
  const server = await startServer({
    dataDir: join(folder, 'data'),
    env: { DATABASE_URL: database.url },
    hasConsole: true,
  })
  const browser = await launchChromium()
  try {
    const state = await signedIn(browser, server)
    const open = async (path: string) => {
      const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, storageState: state })
      const page = await context.newPage()
      await page.goto(`${server.url}${path}`)
      return page
    }
    return await use({ server, databaseUrl: database.url, browser, open })
  } finally {
    await browser.close()
    await server.stop()
    await database.stop()
  }
}

/** Signs in, and returns what the browser keeps of it. */
async function signedIn(browser: Browser, { url, key }: Server): ReturnType<BrowserContext['storageState']> {
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(url)
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()
  const state = await context.storageState()
  await context.close()
  return state
}
