import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** What a service knows of itself. */
export interface Inside {
  /** Sent to the database so far. */
  readonly statements: number
  /** On the heap and beside it, after a collection of garbage. */
  readonly heapBytes: number
  /** In memory, whether they run or only something refers to them. */
  readonly timers: number
}

interface Counter {
  /** Variables for the start of the service. */
  readonly env: Readonly<Record<string, string>>
  /** Asks the process of the service. */
  read(pid: number): Promise<Inside>
}

/** Lets a service count its statements and memory; `folder` holds what it writes. */
export function insideCounter(folder: string): Counter {
  const file = join(folder, 'inside')
  return {
    env: { NODE_OPTIONS: `--import ${join(import.meta.dirname, 'count-statements.ts')}`, STATEMENTS_FILE: file },
    async read(pid) {
      rmSync(file, { force: true })
      process.kill(pid, 'SIGUSR2')
      for (;;) {
        await sleep(10)
        try {
          return JSON.parse(readFileSync(file, 'utf8')) as Inside
        } catch {
          // Not written yet.
        }
      }
    },
  }
}
