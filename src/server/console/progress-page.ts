import { escaped, page } from '../http/public-page.ts'
import type { BuildStatus } from './build-status.ts'

/** Seconds after which the page of a running build loads itself again. */
const refreshS = 2

const steps = {
  waiting: 'The build starts in a moment.',
  installing: 'Step 1 of 2: installing packages.',
  building: 'Step 2 of 2: building.',
} as const

const links =
  '<p>The API works meanwhile: see the <a href="/docs">API reference</a>. The command line does everything that the console does.</p>'

/** Returns the page that replaces the console while there is none. It has no scripts. */
export function progressPage(status: BuildStatus, nowMs: number): string {
  if (status.step === 'failed') {
    const { reason, next } = status
    const body = `<p>Cause: ${escaped(reason)}.</p><p>What to do: ${escaped(next)}. The log of the service has the details.</p>${links}`
    return page('The console could not be built', body)
  }
  const since =
    'startedAtMs' in status ? ` ${Math.max(0, Math.round((nowMs - status.startedAtMs) / 1_000))} s so far.` : ''
  const body = `<p>${steps[status.step]}${since} This page opens the console when it is ready.</p>${links}`
  return page('Building the console', body, `<meta http-equiv="refresh" content="${refreshS}">`)
}
