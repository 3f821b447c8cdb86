import { boundedOutput } from '../bounded-output.ts'
import { resultOf, watchLimits } from '../limited-process.ts'
import type { BoundRequest, ExecResult, SandboxLimits } from '../sandbox.ts'
import type { Container } from './container.ts'

interface Bounds extends Pick<BoundRequest, 'timeoutMs' | 'signal' | 'diskFloor' | 'onOutput'> {
  /** Folder on the disk whose free space is watched. */
  readonly folder: string
  readonly limits: SandboxLimits
}

/** Waits until a command has ended or exceeds a limit. */
export async function collect(container: Container, bounds: Bounds): Promise<ExecResult> {
  const { folder, limits, onOutput, signal } = bounds
  const output = boundedOutput(limits.outputBytes)
  const terminate = () => {
    container.terminate()
    return true
  }
  const bound = watchLimits({ folder, terminate, kill: container.kill }, bounds)
  container.stdout.on('data', (part: Buffer) => {
    output.add(part)
    onOutput?.(part)
    if (output.bytes > limits.totalOutputBytes) bound.stop('output_limit')
  })
  // Only what the engine itself reports before process 1 runs.
  container.stderr.on('data', (part: Buffer) => output.add(part))
  // It may have aborted while the container was created.
  if (signal.aborted) bound.stop('cancelled')
  try {
    const { code, isOutOfMemory } = await container.exited
    if (isOutOfMemory && bound.outcome() === 'exited') output.add(Buffer.from(outOfMemory(limits)))
    return resultOf(bound.outcome(), code, output)
  } finally {
    await bound.release()
  }
}

/** Returns the line that follows the output of a program that the kernel has killed. */
export const outOfMemory = ({ memoryBytes }: SandboxLimits): string =>
  `\n[killed: more than ${Math.floor(memoryBytes / 1024 / 1024)} MiB of memory]\n`
