// Measures the console in a real browser: first paint, interactions, live events, long sessions, requests. Needs Chromium.
// npm run bench:console                      every case
// npm run bench:console -- <names> [--write]  these cases
// Ends with 1 when a figure is over its target.
import { caseProgram } from '../case-program.ts'
import { firstPaint } from './first-paint.ts'
import { firstSteps } from './first-steps.ts'
import { interactions } from './interactions.ts'
import { liveEvents } from './live-events.ts'
import { longSession } from './long-session.ts'
import { requests } from './requests.ts'

const program = {
  script: 'bench:console',
  subject: 'console',
  casesWith: () => [firstSteps, firstPaint, interactions, liveEvents, longSession, requests],
}

process.exitCode = await caseProgram(program, process.argv.slice(2))
