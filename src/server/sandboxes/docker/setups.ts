import { recordsOf, textOf } from '../../platform/json.ts'
import { shellQuoted } from '../../platform/shell-quoted.ts'
import type { SandboxBase, SandboxLimits, SetupRequest } from '../sandbox.ts'
import { checkSetup, setupMs, setupScript } from '../setup.ts'
import { collect } from './collect.ts'
import { type ContainerRecipe, certificateMounts } from './container-body.ts'
import type { Containers } from './containers.ts'
import { type Engine, EngineError } from './engine.ts'
import { type Images, setupRepository } from './images.ts'
import type { Owner } from './leftovers.ts'
import { startProxy } from './proxy-container.ts'

interface Deps {
  readonly engine: Engine
  readonly images: Images
  readonly owner: Owner
  readonly containers: Containers
  readonly limits: SandboxLimits
  readonly image: string
  readonly proxyImage: string
  readonly runtime: string | undefined
  readonly user: string
  /** Folder on the disk of the server whose free space is watched. */
  readonly diskFolder: string
}

/** Label of the images, with the id of the data folder. */
const label = 'switchyard.setup'
const maxImages = 20

/** Images after the set-up commands of agents. They are cached by digest. */
export function createSetups(deps: Deps) {
  const { engine, images, owner, containers, proxyImage } = deps

  async function setUp(request: SetupRequest): Promise<SandboxBase> {
    const image = request.image ?? deps.image
    const tagged = `${setupRepository}:${request.digest}`
    if (request.commands.length > 0 && (await images.has(tagged))) return { image: tagged }
    await images.ensure(image, request.signal)
    if (request.commands.length === 0) return { image }
    const proxy = request.network && (await startProxy({ ...deps, image: proxyImage }, request.network))
    try {
      const recipe: ContainerRecipe = {
        ...deps,
        image,
        // An image keeps the variables of its container: those of the proxy are set by the shell.
        command: [...exportsOf(request.network?.env ?? {}), setupScript(request.commands)].join('\n'),
        env: { HOME: '/root', USER: 'root', LOGNAME: 'root' },
        labels: {},
        mounts: certificateMounts(request.network),
        isProgram: false,
        isSetup: true,
        networkOf: proxy?.id,
      }
      const container = await containers.start(recipe, {
        async finish({ code }, id) {
          if (code === 0 && !request.signal.aborted) await commit(id, request.digest)
        },
      })
      checkSetup(
        await collect(container, { ...request, timeoutMs: setupMs, folder: deps.diskFolder, limits: deps.limits }),
      )
    } finally {
      proxy?.end()
    }
    await prune()
    return { image: tagged }
  }

  /** Stores the file system of a container as an image, completely or not at all. */
  async function commit(id: string, digest: string): Promise<void> {
    const path = `/commit?container=${id}&repo=${setupRepository}&tag=${digest}&pause=0`
    const body = { Labels: { [label]: owner.folderId } }
    await engine.call({ method: 'POST', path, body, timeoutMs: 300_000 })
  }

  /** Removes the oldest images. One that a container uses stays. */
  async function prune(): Promise<void> {
    const filters = encodeURIComponent(JSON.stringify({ label: [`${label}=${owner.folderId}`] }))
    const found = recordsOf(await engine.call({ method: 'GET', path: `/images/json?filters=${filters}` }))
    const byAge = found.toSorted((one, other) => Number(other['Created']) - Number(one['Created']))
    for (const image of byAge.slice(maxImages)) {
      const path = `/images/${encodeURIComponent(textOf(image['Id']))}`
      await engine.call({ method: 'DELETE', path }).catch((error: unknown) => {
        if (!(error instanceof EngineError)) throw error
      })
    }
  }

  return { setUp }
}

const exportsOf = (env: Readonly<Record<string, string>>): string[] =>
  Object.entries(env).map(([name, value]) => `export ${name}=${shellQuoted(value)}`)
