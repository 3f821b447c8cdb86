import type { Page } from 'playwright-core'
import { eventually } from '../service/eventually.ts'
import type { FullService } from './full-service.ts'

/** A page of the console, or a state of one that has an address. */
export interface ConsolePage {
  /** Name of a file. */
  readonly name: string
  readonly path: string
  /** Heading of the page; undefined where it depends on the data. */
  readonly title: string | undefined
}

/** Returns the pages that the menu of an open console offers. */
export async function pagesOfMenu(page: Page): Promise<readonly ConsolePage[]> {
  const links = await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').all()
  return Promise.all(
    links.map(async link => {
      const path = (await link.getAttribute('href')) ?? ''
      const title = (await link.locator('.clip').textContent()) ?? ''
      return { name: path.split('/').at(-1) || 'overview', path, title }
    }),
  )
}

/** Forms of an empty service. */
export const emptyForms: readonly ConsolePage[] = [
  { name: 'not-found', path: '/console/nowhere', title: undefined },
  { name: 'agent-missing', path: '/console/agents/agent_missing', title: undefined },
  { name: 'session-missing', path: '/console/sessions/ses_missing', title: undefined },
]

/** Pages of objects, panels, forms and tabs of a full service. */
export function pagesOfObjects(full: FullService): readonly ConsolePage[] {
  const paths: Readonly<Record<string, string>> = {
    session: `/console/sessions/${full.session}`,
    'session-waiting': `/console/sessions/${full.waitingSession}`,
    'session-failed': `/console/sessions/${full.failedSession}`,
    'session-running': `/console/sessions/${full.runningSession}`,
    'session-right-to-left': `/console/sessions/${full.rightToLeftSession}`,
    'session-large': `/console/sessions/${full.countingSession}`,
    'sessions-panel': `/console/sessions?open=${full.waitingSession}`,
    'sessions-form': '/console/sessions?create=1',
    agent: `/console/agents/${full.agent}`,
    'agent-tools': `/console/agents/${full.agent}?tab=tools`,
    'agent-versions': `/console/agents/${full.agent}?tab=versions`,
    'agents-form': '/console/agents?create=1',
    'keys-form': '/console/keys?create=1',
    'keys-form-of-user': `/console/keys?create=1&user=${full.user}`,
    'users-panel': `/console/users?open=${full.user}`,
    'users-form': '/console/users?create=1',
    'teams-panel': `/console/teams?open=${full.team}`,
    'teams-form': '/console/teams?create=1',
    'schedules-form': '/console/schedules?create=1',
    'mcp-form': '/console/mcp?create=1',
    'webhooks-deliveries': '/console/webhooks?tab=deliveries',
    'memories-of-agent': `/console/memories?agent=${full.agent}`,
    'sessions-no-match': '/console/sessions?q=nothing-has-this-title',
  }
  return Object.entries(paths).map(([name, path]) => ({ name, path, title: undefined }))
}

/** Opens a page and waits until it has loaded its data. */
export async function visit(page: Page, base: string, { path }: Pick<ConsolePage, 'path'>): Promise<void> {
  await page.goto(`${base}${path}`)
  await page.locator('main, [role=alert], h2').first().waitFor()
  await eventually(async () => (await page.locator('main [aria-busy=true]').count()) === 0, {
    what: `the data of ${path}`,
  })
  await page.evaluate('document.fonts.ready.then(() => undefined)')
  await page.waitForTimeout(200)
  // Charts are drawn in turn.
  await page.evaluate(
    'new Promise(done => requestIdleCallback(() => requestAnimationFrame(() => requestAnimationFrame(done))))',
  )
}
