import { spawnSync } from 'node:child_process'
import { basename, join } from 'node:path'

const advice = 'install it: apt-get install gcc libc6-dev'

/** Compiles a C program of the bench into `folder`; the path of the program. */
export function compiled(source: string, folder: string): string {
  const program = join(folder, basename(source, '.c'))
  const { status, stderr, error } = spawnSync('cc', ['-O2', '-o', program, source], { encoding: 'utf8' })
  if (error) throw new Error(`there is no C compiler to build ${basename(source)} (${error.message}); ${advice}`)
  if (status === 0) return program
  const needed = /stdio\.h|crt1\.o/.test(stderr) ? `; the C library is missing, ${advice}` : ''
  throw new Error(`cannot compile ${source}${needed}:\n${stderr}`)
}
