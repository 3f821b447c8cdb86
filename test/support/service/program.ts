import { chmod, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

const root = join(import.meta.dirname, '..', '..', '..')
const compiled = process.env['SWITCHYARD_TEST_PROGRAM']

/** File of the program `switchyard`: the one that `npm test` compiled, which starts in a third of the time, or the source. */
export const programFile = compiled ?? join(root, 'src', 'cli', 'main.ts')

/** Folder for the machine code of earlier starts; that of a compiled program is deleted with it. */
export const compileCache =
  compiled === undefined ? process.env['NODE_COMPILE_CACHE'] : join(dirname(compiled), 'cache')

/** Writes the command `switchyard` into `folder`, for shells that have it on their PATH. */
export async function writeCommand(folder: string): Promise<void> {
  const file = join(folder, 'switchyard')
  const variable = compileCache === undefined ? '' : `export NODE_COMPILE_CACHE='${compileCache}'\n`
  await writeFile(file, `#!/bin/sh\n${variable}exec '${process.execPath}' '${programFile}' "$@"\n`)
  await chmod(file, 0o755)
}
