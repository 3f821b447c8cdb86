import { Type } from 'typebox'
import { shellQuoted } from '../platform/shell-quoted.ts'
import type { Sandbox } from '../sandboxes/sandbox.ts'
import { outputsFolder } from './large-results.ts'
import { defineTool, done, failed } from './tool.ts'

const timeoutMs = 30_000

/** Searches in files. The pattern runs only in a program inside the sandbox, never in the server. */
export const grepTool = defineTool({
  name: 'grep',
  description: 'Search the files of the workspace for a regular expression. Lines are returned as path:number:text.',
  input: Type.Object({
    pattern: Type.String({ minLength: 1, maxLength: 10_000, description: 'A regular expression' }),
    path: Type.Optional(
      Type.String({ minLength: 1, description: 'The file or folder to search; /workspace when absent' }),
    ),
  }),
  idempotent: true,
  reads: true,
  async run({ pattern, path = '.' }, { sandbox, signal }) {
    const { outcome, exitCode, output, truncated } = await sandbox.exec({
      command: search(pattern, path, sandbox.driver),
      timeoutMs,
      signal,
      network: undefined,
    })
    if (outcome === 'cancelled') return failed('cancelled')
    const lines = output.replaceAll(/^(\.|\/workspace)\//gm, '')
    if (outcome !== 'exited') return failed(`${lines}\n[stopped: search too large; use a path or a narrower pattern]`)
    // Both programs exit with 0 for matches, 1 for no match, and 2 for errors, even when they also found lines.
    if (exitCode === 1 && output === '') return done('No matches found')
    return exitCode === 0 ? { ...done(lines), isPartial: truncated } : failed(lines || `[exit code ${exitCode}]`)
  },
})

function search(pattern: string, path: string, driver: Sandbox['driver']): string {
  const what = `-e ${shellQuoted(pattern)} -- ${shellQuoted(path)}`
  const skip = `--exclude-dir=.git --exclude-dir=node_modules --exclude-dir=${outputsFolder}`
  // The virtual shell has its own rg and grep, which support few options.
  if (driver === 'virtual') return `grep -rnE ${skip} ${what}`
  const layout = '--no-heading --with-filename --line-number --color never --sort path --max-columns 500'
  const rg = `rg ${layout} --hidden --glob '!.git' --glob '!node_modules' --glob '!${outputsFolder}' ${what}`
  return `if command -v rg >/dev/null 2>&1; then ${rg}; else grep -rnHIE ${skip} ${what}; fi`
}
