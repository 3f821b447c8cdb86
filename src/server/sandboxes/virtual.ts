import type { ChildProcess } from 'node:child_process'
import { dirname, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type LimitedRun, runLimited } from './limited-process.ts'
import type { BoundRequest, ExecResult, SandboxDriver, SandboxLimits } from './sandbox.ts'

const shell = fileURLToPath(new URL('./virtual-shell.ts', import.meta.url))

/** Returns the folder with just-bash and its dependencies. */
function packages(): string {
  const entry = fileURLToPath(import.meta.resolve('just-bash'))
  return entry.slice(0, entry.lastIndexOf(`${sep}just-bash${sep}`))
}

const exitOfCrash = 134
const mebibyte = 1024 * 1024

/**
 * Returns the driver that works everywhere: a simulated shell with a few built-in commands, which isolates files only.
 * It runs in a separate process with an empty environment, so that timeout, cancellation and memory limit always take
 * effect. Node's permission model confines it to the workspace a second time.
 */
export function virtualDriver(limits: SandboxLimits): SandboxDriver {
  const readable = [packages(), dirname(shell)]
  return {
    name: 'virtual',
    detail: 'a simulated shell over the workspace folder; isolates files only',
    owner: undefined,
    hasNetwork: false,
    async exec(folder, { command, ...request }: BoundRequest) {
      const args = [
        '--permission',
        '--disable-sigusr1',
        ...[...readable, folder].map(path => `--allow-fs-read=${path}`),
        `--allow-fs-write=${folder}`,
        `--max-old-space-size=${Math.floor(limits.memoryBytes / 4 / mebibyte)}`,
        shell,
        folder,
        String(process.pid),
      ]
      const kill = (child: ChildProcess) => {
        child.kill('SIGKILL')
      }
      const launch = { file: process.execPath, args, env: {}, folder, input: command, terminate: () => false, kill }
      return withCrashReason(await runLimited(launch, { ...request, limits }))
    },
  }
}

/** Standard error is only used when the process crashes; the model gets one line about it. */
function withCrashReason({ errorOutput, ...result }: LimitedRun): ExecResult {
  if (result.outcome !== 'exited' || (result.exitCode !== null && !errorOutput)) return result
  const reason = /heap out of memory/i.test(errorOutput) ? 'out of memory' : 'crash'
  return {
    ...result,
    exitCode: result.exitCode ?? exitOfCrash,
    output: `${result.output}[the shell ended: ${reason}]\n`,
  }
}
