// Installs and builds the web console, if its sources have changed: `node scripts/build-console.ts [folder]`.
// With `--background`, as the service runs it: low priority, and one line of JSON with the outcome.
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { BuildOutcome } from '../src/server/console/background-build.ts'
import { webFolder } from '../src/server/console/build-list.ts'
import { BuildFailure, buildConsole } from './console-build.ts'

const { values, positionals } = parseArgs({ allowPositionals: true, options: { background: { type: 'boolean' } } })
const [folder = webFolder] = positionals
if (values.background) setPriority(19)
const outcome = outcomeOf(folder)
process.stdout.write(values.background ? `${JSON.stringify(outcome)}\n` : `${shown(outcome)}\n`)
if (outcome.outcome === 'failed') process.exitCode = 1

function outcomeOf(web: string): BuildOutcome {
  const startedAt = performance.now()
  try {
    if (!buildConsole(web)) return { outcome: 'current' }
    return { outcome: 'built', seconds: Math.round((performance.now() - startedAt) / 1_000) }
  } catch (error) {
    if (!(error instanceof BuildFailure)) throw error
    return { outcome: 'failed', reason: error.message, next: error.next, details: error.details }
  }
}

function shown(ended: BuildOutcome): string {
  switch (ended.outcome) {
    case 'current':
      return `${join(folder, 'dist')} is current`
    case 'built':
      return `Built ${join(folder, 'dist')} in ${ended.seconds} s`
    case 'failed':
      return `Cannot build the console: ${ended.reason}; ${ended.next}\n${ended.details}`
  }
}
