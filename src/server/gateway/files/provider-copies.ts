import { jsonOr, nonEmptyText, recordOf } from '../../platform/json.ts'
import type { Log } from '../../platform/log.ts'
import type { Outbound } from '../../platform/outbound.ts'
import { smallRequest } from '../../platform/small-request.ts'
import type { Target } from '../core/call.ts'
import type { Authorize } from '../upstream/authorize.ts'
import { uploadBody, uploadForm } from '../upstream/upload-form.ts'
import type { PartFile } from './file-parts.ts'
import type { ProviderFileStore } from './provider-file-store.ts'
import { credentialOf, filesHeadersOf, filesUrlOf, isAnthropics } from './provider-files-api.ts'

interface Deps {
  readonly store: Pick<ProviderFileStore, 'find' | 'add' | 'forget'>
  readonly contentOf: (file: PartFile) => AsyncIterable<Buffer>
  readonly outbound: Pick<Outbound, 'connect'>
  readonly authorize: Authorize
  readonly log: Pick<Log, 'warn'>
  readonly nowMs: () => number
}

type Upstream = Pick<Target, 'deployment' | 'protocol'>

/** Lifetime of copies at OpenAI; Anthropic has none. */
const lifetimeS = 30 * 24 * 60 * 60
const uploadMs = 10 * 60_000
/** How long a provider that rejected an upload gets content instead. */
const pauseMs = 5 * 60_000

/** Copies of files at providers: uploaded once per credential. */
export type ProviderCopies = ReturnType<typeof createProviderCopies>

export function createProviderCopies({ store, contentOf, outbound, authorize, log, nowMs }: Deps) {
  const pausedUntilMs = new Map<string, number>()
  /** Uploads in flight in this process, by credential and file. */
  const uploading = new Map<string, Promise<string>>()

  async function upload(target: Upstream, file: PartFile): Promise<string> {
    const url = filesUrlOf(target)
    const form = uploadForm(file, isAnthropics(target) ? [] : openAiFields)
    const headers = await authorize(target, {
      method: 'POST',
      url,
      headers: {
        ...filesHeadersOf(target),
        'content-type': `multipart/form-data; boundary=${form.boundary}`,
        'content-length': String(form.before.length + file.bytes + form.after.length),
      },
      body: Buffer.alloc(0),
    })
    const body = uploadBody(form, contentOf(file))
    const { status, text } = await smallRequest(outbound, { method: 'POST', url, headers, body, totalMs: uploadMs })
    const id = nonEmptyText(recordOf(jsonOr(text, undefined))['id'])
    if (status >= 300 || id === undefined) throw new Error(`provider answered an upload with status ${status}`)
    await store.add(credentialOf(target.deployment), file.id, id)
    return id
  }

  function uploaded(target: Upstream, file: PartFile): Promise<string> {
    const key = `${credentialOf(target.deployment)} ${file.id}`
    const running = uploading.get(key)
    if (running) return running
    const started = upload(target, file).finally(() => uploading.delete(key))
    uploading.set(key, started)
    return started
  }

  return {
    /** Returns the provider's ids of files, by file. It uploads those that the provider lacks; undefined: it cannot. */
    async idsOf(target: Upstream, files: readonly PartFile[]): Promise<ReadonlyMap<string, string> | undefined> {
      const credential = credentialOf(target.deployment)
      if ((pausedUntilMs.get(credential) ?? 0) > nowMs()) return undefined
      try {
        const ids = new Map(await store.find(credential, idsIn(files)))
        for (const file of files) if (!ids.has(file.id)) ids.set(file.id, await uploaded(target, file))
        return ids
      } catch (cause) {
        pausedUntilMs.set(credential, nowMs() + pauseMs)
        const message = 'cannot upload files to a provider; its requests get their content for the next 5 minutes'
        log.warn({ err: cause, deployment: target.deployment.id }, message)
        return undefined
      }
    },

    /** Forgets copies that the provider no longer has. */
    forget: ({ deployment }: Upstream, files: readonly PartFile[]): Promise<void> =>
      store.forget(credentialOf(deployment), idsIn(files)),
  }
}

const idsIn = (files: readonly PartFile[]): string[] => files.map(({ id }) => id)

const openAiFields = [
  ['purpose', 'user_data'],
  ['expires_after[anchor]', 'created_at'],
  ['expires_after[seconds]', String(lifetimeS)],
] as const
