// What an installation would give, calculated from what a turn costs here.
// npm run simulate -- [--model-ms 2000] [--flush-ms 1] [--database-cores 8] [--process-ms 1.2] [--database-ms 1.3] [--commits 3] [--sessions 100]
import { parseArgs } from 'node:util'
import { seeded } from '../../test/faults/random.ts'
import { rounded } from '../statistics.ts'
import { simulate } from './simulation.ts'

const { values } = parseArgs({
  options: {
    'model-ms': { type: 'string', default: '2000' },
    'flush-ms': { type: 'string', default: '1' },
    'database-cores': { type: 'string', default: '8' },
    'process-ms': { type: 'string', default: '1.2' },
    'database-ms': { type: 'string', default: '1.3' },
    commits: { type: 'string', default: '3' },
    sessions: { type: 'string', default: '100' },
  },
})
const given = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, positive(name, value)]))
const installation = {
  sessionsEach: given['sessions'] ?? 0,
  processMs: given['process-ms'] ?? 0,
  databaseMs: given['database-ms'] ?? 0,
  databaseCores: given['database-cores'] ?? 0,
  commits: given['commits'] ?? 0,
  flushMs: given['flush-ms'] ?? 0,
  modelMs: given['model-ms'] ?? 0,
}

process.stdout.write('| Processes | Turns a second | Stored after, p50 | p99 | Process busy | Database busy |\n')
process.stdout.write('| --- | --- | --- | --- | --- | --- |\n')
for (const processes of [1, 2, 4, 8, 16, 32, 64]) {
  const result = simulate({ ...installation, processes }, seeded(1).chance)
  const { turnsPerSecond, acceptedP50, acceptedP99, processBusy, databaseBusy } = result
  const times = [acceptedP50, acceptedP99].map(ms => `${rounded(ms)} ms`)
  const shares = [processBusy, databaseBusy].map(share => `${Math.round(share * 100)} %`)
  const cells = [processes, Math.round(turnsPerSecond), ...times, ...shares]
  process.stdout.write(`| ${cells.join(' | ')} |\n`)
}

function positive(name: string, text: string): number {
  const value = Number(text)
  if (value > 0 && (name.endsWith('-ms') || Number.isInteger(value))) return value
  process.stderr.write(`--${name} must be a number above 0; a whole one unless it is a time\n`)
  process.exit(2)
}
