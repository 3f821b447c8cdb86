import type { SandboxDriverName } from '../../../src/server/sandboxes/sandbox.ts'
import { lack } from '../service/lack.ts'
import type { ServiceOptions } from '../service/service.ts'

/** A sandbox driver that the hostile model attacks: the only place to add a further one. */
export interface HostileDriver {
  readonly name: SandboxDriverName
  /** Why it cannot run here; false where it can. */
  readonly skip: string | false
  /** Settings of the configuration file with which a service uses the driver. */
  readonly config: Readonly<Record<string, unknown>>
  /** Makes a service use the driver, and opens further descriptors before it becomes the service. */
  launcher(descriptors: string): string
  /** Other options of a service that uses the driver. */
  readonly options: Pick<ServiceOptions, 'env' | 'readyMs'>
  /** True when commands are real programs, which can have a network. */
  readonly hasPrograms: boolean
}

export const hostileDrivers: readonly HostileDriver[] = [
  {
    name: 'bubblewrap',
    skip: lack('bubblewrap'),
    config: {},
    launcher: descriptors => `exec ${descriptors}; exec "$@"`,
    options: {},
    hasPrograms: true,
  },
  {
    name: 'virtual',
    skip: false,
    config: {},
    // A service that does not find bubblewrap uses the virtual shell.
    launcher: descriptors => `exec ${descriptors}; export PATH=/nonexistent; exec "$@"`,
    options: {},
    hasPrograms: false,
  },
]
