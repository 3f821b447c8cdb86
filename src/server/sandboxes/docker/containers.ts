import { AppError } from '../../platform/errors.ts'
import { type Container, type ContainerExit, createContainer, removeContainer, startContainer } from './container.ts'
import { type ContainerRecipe, containerBody } from './container-body.ts'
import { type Engine, EngineError, EngineUnreachable } from './engine.ts'
import type { Images } from './images.ts'
import type { Owner } from './leftovers.ts'

interface Deps {
  readonly engine: Engine
  readonly images: Images
  readonly owner: Owner
}

/** Starts containers of this server, and removes them after their end. */
export type Containers = ReturnType<typeof createContainers>

export function createContainers({ engine, images, owner }: Deps) {
  /** Containers whose removal failed. */
  const left = new Set<string>()

  async function remove(name: string): Promise<void> {
    try {
      await removeContainer(engine, name)
      left.delete(name)
    } catch {
      // The engine does not respond. The next container tries again, or the next start of a server.
      left.add(name)
    }
  }

  async function create(name: string, recipe: ContainerRecipe, signal?: AbortSignal): Promise<string> {
    const body = containerBody({ ...recipe, labels: { ...recipe.labels, ...owner.labels } })
    try {
      return await createContainer(engine, name, body)
    } catch (error) {
      // The image does not exist, or not any more.
      if (!(error instanceof EngineError && error.status === 404)) throw error
      await images.ensure(recipe.image, signal)
      return await createContainer(engine, name, body)
    }
  }

  async function startOnce(name: string, recipe: ContainerRecipe, signal?: AbortSignal): Promise<Container> {
    try {
      return await startContainer(engine, await create(name, recipe, signal))
    } catch (error) {
      // The engine may have done what it did not confirm.
      await remove(name)
      throw publicError(error, recipe.image)
    }
  }

  return {
    /**
     * Starts a container, which is removed after its end. `exited` then waits for `finish`. Errors: `unavailable` with a
     * reason for users, `internal` for a recipe that the engine rejects.
     */
    async start(recipe: ContainerRecipe, { signal, finish }: Options = {}): Promise<Container> {
      for (const name of left) void remove(name)
      const name = owner.newName()
      const container = await startOnce(name, recipe, signal)
      const ended = async () => {
        try {
          const exit = await container.exited
          await finish?.(exit, container.id)
          void remove(name)
          return exit
        } catch (error) {
          await remove(name)
          throw publicError(error, recipe.image)
        }
      }
      const exited = ended()
      exited.catch(() => undefined)
      return { ...container, exited }
    },
  }
}

interface Options {
  /** Cancels the pull of a missing image. */
  readonly signal?: AbortSignal
  /** Called after its end, before it is removed. */
  readonly finish?: (exit: ContainerExit, id: string) => Promise<void>
}

function publicError(error: unknown, image: string): unknown {
  if (error instanceof EngineUnreachable)
    return new AppError('unavailable', 'the Docker engine does not respond; retry later', { cause: error })
  if (!(error instanceof EngineError)) return error
  // The text of the engine may contain paths of the host.
  if (/\/bin\/sh/.test(error.message))
    return new AppError('unavailable', `image ${image} has no /bin/sh, which sandboxes need`, { cause: error })
  return new AppError('internal', 'cannot start the sandbox', { cause: error })
}
