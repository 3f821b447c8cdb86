import type { DockerSettings, KubernetesSandbox } from '../config/agent-settings.ts'
import { AppError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import { bubblewrapDriver } from './bubblewrap.ts'
import { dockerDriver } from './docker/docker.ts'
import { kubernetesDriver } from './kubernetes/driver.ts'
import type { SandboxDriver, SandboxDriverName, SandboxLimits } from './sandbox.ts'
import { virtualDriver } from './virtual.ts'

export interface DriverSettings {
  /** Image of agents that name none, for drivers with images. */
  readonly image: string
  /** Other images that agents may name. */
  readonly images: readonly string[]
  readonly docker: DockerSettings
  /** For the driver `kubernetes`. */
  readonly kubernetes?: KubernetesSandbox | undefined
}

interface Choosing {
  readonly prefer: SandboxDriverName | undefined
  readonly limits: SandboxLimits
  readonly settings: DriverSettings | undefined
  readonly workspacesDir: string
  readonly log: Pick<Log, 'info' | 'warn'>
}

interface Choice {
  readonly driver: SandboxDriver
  readonly detail: string
  /** Why no better driver is used. */
  readonly problem?: string
}

/** Returns the driver of the configuration, or the best one that works here. Errors: `unavailable` for the former. */
export async function chooseDriver(choosing: Choosing): Promise<Choice> {
  const { prefer, limits, workspacesDir } = choosing
  switch (prefer) {
    case 'virtual':
      return plain(virtualDriver(limits))
    case 'bubblewrap':
      return plain(await required(prefer, () => bubblewrapDriver(limits, workspacesDir)))
    case 'docker':
      return plain(await required(prefer, () => dockerOf(choosing)))
    case 'kubernetes':
      return plain(await required(prefer, () => kubernetesOf(choosing)))
    case undefined:
      return await best(limits, workspacesDir)
  }
}

const plain = (driver: SandboxDriver): Choice => ({ driver, detail: driver.detail })

/** There is no fallback to a weaker driver. */
async function required(name: string, create: () => Promise<SandboxDriver>): Promise<SandboxDriver> {
  try {
    return await create()
  } catch (cause) {
    throw new AppError('unavailable', `sandbox driver ${name}: ${reasonOf(cause)}`, { cause })
  }
}

async function dockerOf({ limits, settings, workspacesDir }: Choosing): Promise<SandboxDriver> {
  if (!settings) throw new Error('needs settings (bug)')
  return await dockerDriver({ limits, settings: settings.docker, image: settings.image, workspacesDir })
}

async function kubernetesOf({ limits, settings, workspacesDir, log }: Choosing): Promise<SandboxDriver> {
  if (!settings?.kubernetes) throw new Error('needs settings (bug)')
  return await kubernetesDriver({ settings: settings.kubernetes, image: settings.image, limits, workspacesDir, log })
}

async function best(limits: SandboxLimits, workspacesDir: string): Promise<Choice> {
  try {
    return plain(await bubblewrapDriver(limits, workspacesDir))
  } catch (cause) {
    const virtual = virtualDriver(limits)
    const problem = reasonOf(cause)
    return { driver: virtual, detail: `${virtual.detail}; bubblewrap is not used: ${problem}`, problem }
  }
}

const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
