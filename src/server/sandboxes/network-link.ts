import { AppError } from '../platform/errors.ts'
import type { NetworkLink, Sandbox, SandboxDriver, SandboxNetwork } from './sandbox.ts'

/** Returns a view of the sandbox with a network. */
export const withNetwork = (sandbox: Sandbox, network: SandboxNetwork): Sandbox => ({
  ...sandbox,
  exec: request => sandbox.exec({ network, ...request }),
  async programPlace(isolation) {
    const place = await sandbox.programPlace(isolation)
    return { ...place, start: request => place.start({ network, ...request }) }
  },
})

interface Wanted {
  readonly driver: SandboxDriver
  readonly network: SandboxNetwork | undefined
}

/** Runs `work` while the network is open. */
export async function linked<T>(wanted: Wanted, work: (link: NetworkLink | undefined) => Promise<T>): Promise<T> {
  const link = await openLink(wanted)
  try {
    return await work(link)
  } finally {
    await link?.close()
  }
}

/** Opens the network, if there is one. Errors: `unavailable` when the driver has none. */
export async function openLink({ driver, network }: Wanted): Promise<NetworkLink | undefined> {
  if (!network) return undefined
  if (driver.hasNetwork) return await network.open()
  throw new AppError(
    'unavailable',
    `config.network needs a sandbox with a network (bubblewrap or docker), but this server uses: ${driver.detail}`,
  )
}
