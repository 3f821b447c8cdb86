import { randomBytes } from 'node:crypto'
import { Type } from 'typebox'
import type { ExecResult } from '../sandboxes/sandbox.ts'
import { type Answer, defineTool, done, failed, type ToolContext } from './tool.ts'

/** Folder of the workspace for outputs that exceed the size of a result. */
export const outputsFolder = '.outputs'

const killedExit = 137

/** Runs a shell command in the sandbox. */
export const bashTool = defineTool({
  name: 'bash',
  description:
    'Run a shell command. Each call is a fresh shell that starts in the workspace /workspace; files there stay, ' +
    'variables, /tmp and background processes do not. There is no network.',
  input: Type.Object({
    command: Type.Optional(Type.String({ minLength: 1, description: 'The command; required unless restart is true' })),
    timeout_ms: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 600_000, description: 'Milliseconds; 120000 when absent' }),
    ),
    restart: Type.Optional(Type.Boolean({ description: 'Accepted for compatibility: every call is a fresh shell' })),
  }),
  idempotent: false,
  async run({ command, timeout_ms, restart }, context) {
    if (command === undefined) {
      return restart
        ? done('restarted; every command runs in a fresh shell')
        : failed('invalid input for bash: command is required')
    }
    const result = await context.sandbox.exec({ command, timeoutMs: timeout_ms, signal: context.signal })
    return await answerOf(result, context)
  },
})

async function answerOf(result: ExecResult, context: ToolContext): Promise<Answer> {
  const note = ending(result)
  const where = result.output.length > context.limits.resultChars ? await storeOutput(result, context) : ''
  const text = [where, result.output.replace(/\n$/, ''), note].filter(part => part !== '').join('\n')
  return note === '' ? done(text) : failed(text)
}

/** Returns why the command failed; empty when it succeeded. */
function ending({ outcome, exitCode, deletedFiles = 0 }: ExecResult): string {
  switch (outcome) {
    case 'exited':
      if (exitCode === 0) return ''
      return `[exit code ${exitCode}${exitCode === killedExit ? ': killed, possibly out of memory' : ''}]`
    case 'timed_out':
      return '[stopped: timeout reached]'
    case 'cancelled':
      return '[cancelled]'
    case 'output_limit':
      return '[stopped: output limit exceeded]'
    case 'disk_limit':
      return deletedFiles === 0
        ? '[stopped: disk is nearly full]'
        : `[stopped: disk is nearly full; ${deletedFiles} files of this command were deleted]`
  }
}

/**
 * Writes the whole output to a file and returns a note with its path. A full disk must not discard the result itself.
 */
async function storeOutput({ output, truncated }: ExecResult, { sandbox }: ToolContext): Promise<string> {
  const path = `${outputsFolder}/${randomBytes(4).toString('hex')}.txt`
  try {
    await sandbox.files.write(path, output)
    return `[the ${truncated ? 'start and end of the' : 'whole'} output is in ${path}]`
  } catch {
    return '[cannot store the whole output]'
  }
}
