import type { Deployment } from '../../config/deployments.ts'
import type { Log } from '../../platform/log.ts'
import type { Outbound } from '../../platform/outbound.ts'
import { smallRequest } from '../../platform/small-request.ts'
import { every } from '../../platform/timers.ts'
import type { Authorize } from '../upstream/authorize.ts'
import type { ProviderCopy, ProviderFileStore } from './provider-file-store.ts'
import { credentialOf, filesHeadersOf, filesUpstreamOf, filesUrlOf } from './provider-files-api.ts'

interface Deps {
  readonly store: Pick<ProviderFileStore, 'takeOrphans'>
  readonly deployments: () => readonly Deployment[]
  readonly outbound: Pick<Outbound, 'connect'>
  readonly authorize: Authorize
  readonly log: Pick<Log, 'debug' | 'warn'>
}

const sweepMs = 60_000

/** Deletes copies at providers whose files were deleted or have expired. A failed deletion is not repeated. */
export function createCopyCleanup({ store, deployments, outbound, authorize, log }: Deps) {
  let stopSweeping = async (): Promise<void> => undefined

  async function remove({ credential, provider_id }: ProviderCopy): Promise<void> {
    const upstream = deployments()
      .filter(deployment => credentialOf(deployment) === credential)
      .map(filesUpstreamOf)
      .find(found => found !== undefined)
    if (!upstream) return
    const url = `${filesUrlOf(upstream)}/${encodeURIComponent(provider_id)}`
    const request = { method: 'DELETE' as const, url, headers: filesHeadersOf(upstream) }
    const headers = await authorize(upstream, { ...request, body: Buffer.alloc(0) })
    const { status } = await smallRequest(outbound, { ...request, headers })
    if (status >= 300 && status !== 404) throw new Error(`provider answered the deletion with status ${status}`)
  }

  async function sweep(): Promise<void> {
    try {
      for (let copies = await store.takeOrphans(); copies.length > 0; copies = await store.takeOrphans()) {
        for (const copy of copies)
          await remove(copy).catch(cause =>
            log.warn({ err: cause }, 'could not delete the copy of a file at a provider'),
          )
      }
    } catch (cause) {
      log.debug({ err: cause }, 'cannot find copies of deleted files; retrying in the next sweep')
    }
  }

  return {
    sweep,
    start(): void {
      stopSweeping = every(sweepMs, sweep)
    },
    stop: (): Promise<void> => stopSweeping(),
  }
}
