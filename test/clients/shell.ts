import { mkdir, symlink } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { clientProgram } from '../support/service/client-program.ts'

const modules = join(import.meta.dirname, 'node_modules')

/**
 * A shell with a home and its own working folder. It finds the programs of this folder as if they had been
 * installed globally, and their packages as if they had been installed where it works.
 */
export async function clientShell() {
  const { home, work, run } = await clientProgram('bash')
  const bin = join(home, 'bin')
  await mkdir(bin)
  // This one is installed under the name of its build.
  await symlink(join(modules, 'opencode-linux-x64-baseline/bin/opencode'), join(bin, 'opencode'))
  await symlink(modules, join(work, 'node_modules'))
  const PATH = [bin, dirname(process.execPath), join(modules, '.bin'), process.env['PATH']].join(delimiter)
  return {
    home,
    work,
    /** Runs `script` until it ends or one of its commands fails. */
    run: (script: string, env: Readonly<Record<string, string>>) =>
      run({ args: ['-ec', script], env: { PATH, ...env } }),
  }
}
