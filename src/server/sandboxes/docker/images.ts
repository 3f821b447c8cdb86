import { AppError } from '../../platform/errors.ts'
import { textOf } from '../../platform/json.ts'
import { untilAborted } from '../../platform/until-aborted.ts'
import { type Engine, EngineError } from './engine.ts'

/** Time to pull an image. */
const pullMs = 600_000

/** The call that needs the image was cancelled during its download, which continues. */
export class PullCancelled extends AppError {
  constructor() {
    super('unavailable', 'cancelled while an image was pulled')
    this.name = 'PullCancelled'
  }
}

/** Repository of the images after set-up commands. No registry has them. */
export const setupRepository = 'switchyard-setup'

/** Images of an engine. */
export type Images = ReturnType<typeof createImages>

/** `pull`: whether missing images are downloaded. */
export function createImages(engine: Engine, { pull }: { readonly pull: boolean }) {
  const pulls = new Map<string, Promise<void>>()

  async function has(image: string): Promise<boolean> {
    try {
      await engine.call({ method: 'GET', path: `/images/${encodeURIComponent(image)}/json` })
      return true
    } catch (error) {
      if (error instanceof EngineError && error.status === 404) return false
      throw error
    }
  }

  async function download(image: string): Promise<void> {
    let problem: string | undefined
    const path = `/images/create?fromImage=${encodeURIComponent(withTag(image))}`
    try {
      // The status is 200 before the download; the last object of a failed one has an error.
      await engine.call({
        method: 'POST',
        path,
        timeoutMs: pullMs,
        onObject: ({ error }) => {
          problem = textOf(error) || problem
        },
      })
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error)
    }
    if (problem !== undefined) throw missing(image, `cannot be pulled: ${problem.slice(0, 300)}`)
  }

  return {
    has,
    /** Pulls a missing image, once at a time. Errors: `unavailable` after 10 minutes, or when it cannot be pulled. */
    async ensure(image: string, signal?: AbortSignal): Promise<void> {
      if (await has(image)) return
      if (image.startsWith(`${setupRepository}:`))
        throw new AppError('unavailable', 'the set-up of this session was removed; send the prompt again')
      if (!pull) throw missing(image, 'does not exist and sandbox.docker.pull is never')
      let running = pulls.get(image)
      if (!running) {
        running = download(image).finally(() => pulls.delete(image))
        pulls.set(image, running)
      }
      await untilAborted(running, signal, () => new PullCancelled())
    },
  }
}

const missing = (image: string, problem: string) =>
  new AppError('unavailable', `image ${image} ${problem}; pull it on the host: docker pull ${image}`)

/** Without a tag the engine would pull all of them. */
const withTag = (image: string): string => (/(:[\w.-]+|@sha256:[0-9a-f]{64})$/.test(image) ? image : `${image}:latest`)
