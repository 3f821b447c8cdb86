import { Type } from 'typebox'
import type { ExecResult } from '../sandboxes/sandbox.ts'
import { startInBackground } from './bash-jobs.ts'
import { endingOf } from './command-ending.ts'
import { type Answer, defineTool, done, failed } from './tool.ts'

/** Runs a shell command in the sandbox. */
export const bashTool = defineTool({
  name: 'bash',
  description:
    'Run a shell command. Each call is a fresh shell that starts in the workspace /workspace; files there stay, ' +
    'variables and /tmp do not. There is no network, unless this agent may reach some hosts: then over HTTP and HTTPS, ' +
    'through the proxy in http_proxy and https_proxy. A command for which you do not want to wait runs with ' +
    'run_in_background: the call returns a job_id for bash_output and bash_kill. Other processes end with their call.',
  input: Type.Object({
    command: Type.Optional(Type.String({ minLength: 1, description: 'The command; required unless restart is true' })),
    timeout_ms: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 600_000,
        description: 'Milliseconds; 120000 when absent, no limit for a command in the background',
      }),
    ),
    restart: Type.Optional(Type.Boolean({ description: 'Accepted for compatibility: every call is a fresh shell' })),
    run_in_background: Type.Optional(
      Type.Boolean({ description: 'Return a job_id at once. The job ends with this run at the latest' }),
    ),
  }),
  idempotent: false,
  async run({ command, timeout_ms, restart, run_in_background }, context) {
    if (command === undefined) {
      return restart
        ? done('restarted; every command runs in a fresh shell')
        : failed('invalid input for bash: command is required')
    }
    if (run_in_background) return startInBackground(command, timeout_ms, context)
    return answerOf(await context.sandbox.exec({ command, timeoutMs: timeout_ms, signal: context.signal }))
  },
})

function answerOf(result: ExecResult): Answer {
  const ending = endingOf(result)
  const parts = [result.output.replace(/\n$/, ''), ending && `[${ending}]`]
  const text = parts.filter(part => part !== '').join('\n')
  return { text, isError: ending !== '', isPartial: result.truncated }
}
