// Measures a backup and its restore on the embedded database: duration, size and memory. Linux only.
// npm run bench:backup                      every case
// npm run bench:backup -- small [--write]   200 sessions with 20,000 events, for correctness
// Ends with 1 when a figure is over its target.
import { caseProgram } from '../case-program.ts'
import { backupAndRestore } from './backup-and-restore.ts'

const program = {
  script: 'bench:backup',
  subject: 'backup',
  casesWith: () => [
    backupAndRestore({ name: 'full', sessions: 10_000, eventsOfEach: 100 }),
    backupAndRestore({ name: 'small', sessions: 200, eventsOfEach: 100 }),
  ],
}

process.exitCode = await caseProgram(program, process.argv.slice(2))
