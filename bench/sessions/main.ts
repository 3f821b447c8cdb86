// Measures sessions: what a turn costs, and how that grows with sessions, readers and the length of a log. Linux only.
// npm run bench:sessions                                          every case
// npm run bench:sessions -- <names> [--against <commit>] [--write]  these cases, beside another commit where they compare
// Ends with 1 when a figure is over its target.
import { caseProgram } from '../case-program.ts'
import { disk } from './disk.ts'
import { growth } from './growth.ts'
import { longLog } from './long-log.ts'
import { queue } from './queue.ts'
import { readers } from './readers.ts'
import { turn } from './turn.ts'

const sessions = {
  script: 'bench:sessions',
  subject: 'sessions',
  casesWith: (against: string | undefined) => [turn(against), growth, disk(against), queue, longLog, ...readers],
}

process.exitCode = await caseProgram(sessions, process.argv.slice(2))
