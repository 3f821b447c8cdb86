import type { DriverSettings } from '../../../src/server/sandboxes/choose-driver.ts'
import type { SandboxDriverName } from '../../../src/server/sandboxes/sandbox.ts'
import { dockerForTests, lackEngine } from '../docker/docker-for-tests.ts'
import { fakeClusterFor } from '../kubernetes/fake-cluster-for.ts'
import { lack } from '../service/lack.ts'
import type { ServiceOptions } from '../service/service.ts'

/** A sandbox driver that the hostile model attacks: the only place to add a further one. */
export interface HostileDriver {
  readonly name: SandboxDriverName
  /** Why it cannot run here; false where it can. */
  readonly skip: string | false
  /** Starts what the driver needs beside the service, until the last test of the file. */
  prepare(workspacesDir: string): Promise<Prepared>
  /** Makes a service use the driver, and opens further descriptors before it becomes the service. */
  launcher(descriptors: string): string
  /** Other options of a service that uses the driver. */
  readonly options: Pick<ServiceOptions, 'env' | 'readyMs'>
  /** True when commands are real programs. */
  readonly hasPrograms: boolean
  /** True when commands can have a network. */
  readonly hasNetwork: boolean
}

interface Prepared {
  /** Settings with which the driver is created. */
  readonly settings?: DriverSettings
  /** Settings of the configuration file with which a service uses the driver. */
  readonly config: Readonly<Record<string, unknown>>
}

const real = {
  // The containers of the fakes are bubblewrap sandboxes.
  skip: lack('bubblewrap'),
  launcher: (descriptors: string) => `exec ${descriptors}; exec "$@"`,
  options: {},
  hasPrograms: true,
}

async function prepareDocker(): Promise<Prepared> {
  const { settings } = await dockerForTests()
  const { image, docker } = settings
  return { settings, config: { sandbox: { driver: 'docker', image, docker: { socket: docker.socket } } } }
}

async function prepareKubernetes(workspacesDir: string): Promise<Prepared> {
  const { fake, settings } = await fakeClusterFor(workspacesDir)
  const { namespace, claim, api } = fake.settings
  const { server, tokenFile: token_file, caFile: ca_file } = api
  const kubernetes = { namespace, workspaces: { claim }, api: { server, token_file, ca_file } }
  return { settings, config: { sandbox: { driver: 'kubernetes', image: settings.image, kubernetes } } }
}

export const hostileDrivers: readonly HostileDriver[] = [
  { ...real, name: 'bubblewrap', prepare: async () => ({ config: {} }), hasNetwork: true },
  { ...real, name: 'docker', skip: lackEngine, prepare: prepareDocker, hasNetwork: true },
  { ...real, name: 'kubernetes', prepare: prepareKubernetes, hasNetwork: false },
  {
    name: 'virtual',
    skip: false,
    prepare: async () => ({ config: {} }),
    // A service that does not find bubblewrap uses the virtual shell.
    launcher: descriptors => `exec ${descriptors}; export PATH=/nonexistent; exec "$@"`,
    options: {},
    hasPrograms: false,
    hasNetwork: false,
  },
]
