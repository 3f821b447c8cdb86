import type { ChildProcess } from 'node:child_process'
import { dirname, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type LimitedRun, runLimited } from './limited-process.ts'
import type { BoundRequest, ExecResult, SandboxDriver, SandboxLimits } from './sandbox.ts'

const shell = fileURLToPath(new URL('./virtual-shell.ts', import.meta.url))

/** The folder that holds just-bash and what it needs. */
function packages(): string {
  const entry = fileURLToPath(import.meta.resolve('just-bash'))
  return entry.slice(0, entry.lastIndexOf(`${sep}just-bash${sep}`))
}

const exitOfCrash = 134
const mebibyte = 1024 * 1024

/**
 * The driver that works everywhere: a simulated shell with its own small commands. It claims no isolation beyond its
 * view of files. It runs in a process of its own, with an empty environment, so that a time-out, a cancellation and a
 * lack of memory end it for certain, and Node's permission model keeps it to the workspace a second time.
 */
export function virtualDriver(limits: SandboxLimits): SandboxDriver {
  const readable = [packages(), dirname(shell)]
  return {
    name: 'virtual',
    detail: 'a simulated shell over the workspace folder; no isolation beyond its view of files',
    owner: undefined,
    async exec(folder, { command, ...request }: BoundRequest) {
      const args = [
        '--permission',
        '--disable-sigusr1',
        ...[...readable, folder].map(path => `--allow-fs-read=${path}`),
        `--allow-fs-write=${folder}`,
        `--max-old-space-size=${Math.floor(limits.memoryBytes / 4 / mebibyte)}`,
        shell,
        folder,
      ]
      const end = (child: ChildProcess) => {
        child.kill('SIGKILL')
      }
      const launch = { file: process.execPath, args, env: {}, folder, input: command, ask: () => false, end }
      return withComplaint(await runLimited(launch, { ...request, limits }))
    },
  }
}

/** Nothing but a crash of the process makes it complain; the model is told, in one line. */
function withComplaint({ complaint, ...result }: LimitedRun): ExecResult {
  if (result.outcome !== 'exited' || (result.exitCode !== null && !complaint)) return result
  const reason = /heap out of memory/i.test(complaint) ? 'it ran out of memory' : 'it crashed'
  return {
    ...result,
    exitCode: result.exitCode ?? exitOfCrash,
    output: `${result.output}[the shell ended: ${reason}]\n`,
  }
}
