// Checks the web console: types, build, and the size of the scripts of the first load. A step of `npm run check`.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { webFolder } from '../src/server/console/build-list.ts'
import { firstLoadOf, maxFirstLoadBytes } from './console-budget.ts'
import { BuildFailure, buildConsole } from './console-build.ts'

const root = join(import.meta.dirname, '..')

try {
  // The build first, because it installs the packages that the types need.
  buildConsole(webFolder)
  execFileSync(process.execPath, ['node_modules/typescript-7/bin/tsc', '-p', 'web'], { cwd: root, stdio: 'inherit' })
  const { scripts, bytes, early, later } = firstLoadOf(join(webFolder, 'dist'))
  const size = `${Math.ceil(bytes / 1_000)} KB of gzip, at most ${maxFirstLoadBytes / 1_000} KB are allowed`
  process.stdout.write(`first load: ${scripts.length} scripts with ${size}; ${later} parts load later\n`)
  for (const name of early)
    process.stdout.write(`${name} loads later by its own import, but a static import loads it first\n`)
  if (bytes > maxFirstLoadBytes || early.length > 0) process.exitCode = 1
} catch (error) {
  if (error instanceof BuildFailure) process.stdout.write(`${error.message}; ${error.next}\n${error.details}\n`)
  process.exitCode = 1
}
