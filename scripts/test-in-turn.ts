import { relative } from 'node:path'
import { after, describe } from 'node:test'

/**
 * Runs test files one after the other in this process, each as a suite with its own hooks. A file is loaded when the
 * file before it has ended, so that only one file has databases and servers open.
 */
export async function runInTurn(files: readonly string[]): Promise<void> {
  for (const file of files) await ended(file)
}

function ended(file: string): Promise<void> {
  return new Promise(resolve => {
    describe(relative(process.cwd(), file), async () => {
      after(() => resolve())
      try {
        await import(file)
      } catch (error) {
        resolve()
        throw error
      }
    })
  })
}
