import { dirname, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BoundedOutput, boundedOutput } from './bounded-output.ts'
import { resultOf, watchLimits } from './limited-process.ts'
import type { BoundRequest, ExecResult, SandboxDriver, SandboxLimits } from './sandbox.ts'
import { type Answer, idleShells, startShell } from './virtual-processes.ts'

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
 * It runs in separate processes with an empty environment, so that timeout, cancellation and memory limit always take
 * effect. Node's permission model confines each to one workspace a second time. A process runs the commands of one
 * workspace, each in a fresh shell.
 */
export function virtualDriver(limits: SandboxLimits): SandboxDriver {
  const readable = [packages(), dirname(shell)]
  const idle = idleShells()
  const start = (folder: string) => {
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
    return startShell(process.execPath, args)
  }
  return {
    name: 'virtual',
    detail: 'a simulated shell over the workspace folder; isolates files only',
    owner: undefined,
    hasNetwork: false,
    async exec(folder, { command, onOutput, ...bounds }: BoundRequest) {
      const output = boundedOutput(limits.outputBytes)
      if (bounds.signal.aborted) return resultOf('cancelled', null, output)
      const process = idle.take(folder) ?? start(folder)
      const kill = () => void process.child.kill('SIGKILL')
      const watched = watchLimits({ folder, terminate: () => false, kill }, { ...bounds, limits })
      try {
        const answer = await process.run(command, part => {
          output.add(part)
          onOutput?.(part)
          if (output.bytes > limits.totalOutputBytes) watched.stop('output_limit')
        })
        return resultOfAnswer(answer, watched.outcome(), output)
      } finally {
        await watched.release()
        idle.keep(folder, process)
      }
    },
  }
}

/** Returns the result of a command. A crash is one line for the model, without the standard error of the process. */
function resultOfAnswer(answer: Answer, outcome: ExecResult['outcome'], output: BoundedOutput): ExecResult {
  const isCrash = outcome === 'exited' && answer.kind === 'ended'
  if (!isCrash) return resultOf(outcome, answer.exitCode, output)
  const result = resultOf(outcome, answer.exitCode || exitOfCrash, output)
  const reason = /heap out of memory/i.test(answer.errorOutput) ? 'out of memory' : 'crash'
  return { ...result, output: `${result.output}[the shell ended: ${reason}]\n` }
}
