import { AppError } from '../../platform/errors.ts'
import { pause } from '../../platform/timers.ts'
import { boundedOutput } from '../bounded-output.ts'
import { type NetworkMount, networkRoot, proxyPort, proxySocket, type SandboxLimits } from '../sandbox.ts'
import { type ContainerRecipe, networkMount } from './container-body.ts'
import type { Containers } from './containers.ts'

interface Own {
  readonly limits: SandboxLimits
  /** Must contain socat. */
  readonly image: string
  readonly containers: Containers
  readonly runtime: string | undefined
  readonly user: string
}

const startMs = 15_000
const MiB = 1024 * 1024

const forwarder = [
  `exec socat -d -d TCP-LISTEN:${proxyPort},bind=127.0.0.1,reuseaddr,fork,max-children=128`,
  `UNIX-CONNECT:${networkRoot}/${proxySocket}`,
].join(' ')

const recipeOf = ({ image, limits, runtime, user }: Own, command: string): ContainerRecipe => ({
  image,
  command,
  user,
  runtime,
  limits: { ...limits, memoryBytes: 256 * MiB, processes: 160, scratchBytes: MiB },
  isProgram: false,
  env: {},
  labels: {},
  mounts: [],
  networkOf: undefined,
})

/** Reports whether the image can forward connections to the proxy. */
export async function hasForwarder(own: Own): Promise<boolean> {
  const container = await own.containers.start(recipeOf(own, 'command -v socat'))
  container.stdout.resume()
  container.stderr.resume()
  return (await container.exited).code === 0
}

/** A container whose network has only the proxy. */
export interface ProxyContainer {
  /** Other containers use its network by this id. */
  readonly id: string
  end(): void
}

/**
 * Starts a container that forwards `proxyPort` of its own loopback to the socket of the proxy. Other containers share its
 * network, so their images need no forwarder, and the socket is not visible in them.
 */
export async function startProxy(own: Own, network: NetworkMount): Promise<ProxyContainer> {
  const recipe = { ...recipeOf(own, forwarder), mounts: [networkMount(network)] }
  const container = await own.containers.start(recipe)
  const output = boundedOutput(4096)
  container.stderr.resume()
  const listening = new Promise<true>(resolve => {
    container.stdout.on('data', (part: Buffer) => {
      if (output.truncated) return
      output.add(part)
      if (/listening on/.test(output.text())) resolve(true)
    })
  })
  const decided = new AbortController()
  const isReady = await Promise.race([
    listening,
    container.exited.then(
      () => false,
      () => false,
    ),
    pause(startMs, decided.signal).then(() => false),
  ])
  decided.abort()
  if (isReady) return { id: container.id, end: container.kill }
  container.kill()
  throw new AppError('unavailable', 'the network of the sandbox did not start; retry later', {
    cause: new Error(output.text().slice(-500)),
  })
}
