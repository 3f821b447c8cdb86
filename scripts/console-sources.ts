import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** What a build of the console depends on, from the folder of the console. */
const patterns = [
  '*.{html,json,ts}',
  '{src,build,public}/**/*.*',
  '../src/{client,contract}/**/*.{ts,json}',
  '../package-lock.json',
] as const

/** Changes when a build needs other parts or another form than before. */
const format = 'console-build-1'

/** Returns a digest of the sources of the console, without tests. */
export function digestOfSources(folder: string): string {
  const files = globSync(patterns, { cwd: folder }).filter(file => !/\.test\.tsx?$/.test(file))
  const digest = createHash('sha256').update(format)
  for (const file of files.sort()) digest.update(`\0${file}\0`).update(readFileSync(join(folder, file)))
  return digest.digest('base64url')
}
