import { AppError } from '../../platform/errors.ts'
import type { Attempt, Call, FormatAdapter, Outcome, UpstreamError } from '../core/call.ts'
import { readRequest } from '../core/request.ts'
import type { PassthroughCall, PassthroughRequest } from '../passthrough/passthrough-format.ts'
import { isReferable, referringBody } from './filled-request.ts'
import type { ProviderCopies } from './provider-copies.ts'
import { filesBeta, isAnthropics, storesFiles } from './provider-files-api.ts'
import { isForContainer } from './references.ts'

/** A call whose request is built before it has an answer. */
export type BatchCall = Pick<Attempt, 'call' | 'parsed' | 'target'>

/**
 * Passthrough to providers that store files: a request refers to the provider's copies, which are uploaded before. When
 * that fails, or the provider stores no files, the request contains the content.
 */
export function createReferringAdapter(adapter: FormatAdapter, copies: ProviderCopies): FormatAdapter {
  async function withCopies(attempt: Attempt, sink: Parameters<FormatAdapter>[1]): Promise<Outcome | UpstreamError> {
    const { call, target } = attempt
    const { files } = call
    // A hook that replaced the body may have moved the content.
    const placed = files?.body === call.body ? files.placed : []
    const referable = storesFiles(target) ? placed.filter(isReferable).map(({ file }) => file) : []
    for (let tries = 0; files && referable.length > 0 && tries < 2; tries++) {
      const ids = await copies.idsOf(target, referable)
      if (!ids) break
      const body = referringBody(files, id => ids.get(id))
      const result = await adapter(referring(attempt, body), sink)
      if (!isMissing(result, [...ids.values()])) return result
      await copies.forget(target, referable)
    }
    rejectUploads(files)
    return adapter(attempt, sink)
  }
  return (attempt, sink) => (attempt.call.files ? withCopies(attempt, sink) : adapter(attempt, sink))
}

type BuildRequest = (attempt: PassthroughCall) => PassthroughRequest

/**
 * Returns the function that builds the request of a call for a batch of a provider; undefined where it cannot refer to
 * the files of the call: their content is not sent, since the requests of a batch are in memory together.
 */
export function createReferringRequest(request: BuildRequest, copies: ProviderCopies | undefined) {
  return async (given: BatchCall): Promise<PassthroughRequest | undefined> => {
    const { call, target } = given
    const { files } = call
    if (!files) return request(given)
    const isReferring = files.body === call.body && storesFiles(target) && files.placed.every(isReferable)
    const placed = files.placed.map(({ file }) => file)
    const ids = isReferring ? await copies?.idsOf(target, placed) : undefined
    if (!ids) return undefined
    const body = referringBody(files, id => ids.get(id))
    return request(referring(given, body))
  }
}

/** Code of the provider can only read files that the provider stores. */
function rejectUploads(files: Call['files']): void {
  const upload = files?.placed.find(({ type }) => isForContainer(type))
  if (upload) {
    const message = `${upload.path}: ${upload.type} needs a provider that stores files, and its upload of ${upload.file.id} failed or is not possible`
    throw new AppError('invalid_request', message)
  }
}

function referring<A extends BatchCall>(attempt: A, body: Buffer): A {
  const { call, parsed, target } = attempt
  const changed = { ...call, body, ...(isAnthropics(target) && { headers: withBeta(call.headers) }) }
  return { ...attempt, call: changed, parsed: { ...readRequest(changed), model: parsed.model } }
}

function withBeta(headers: Call['headers']): Call['headers'] {
  const given = [headers['anthropic-beta']].flat().filter(beta => beta !== undefined)
  if (given.some(betas => betas.includes(filesBeta))) return headers
  return { ...headers, 'anthropic-beta': [...given, filesBeta].join(',') }
}

/** Reports whether the provider no longer has a copy. */
function isMissing(result: Outcome | UpstreamError, ids: readonly string[]): boolean {
  if (result.outcome !== 'refused' || (result.status !== 404 && result.status !== 400)) return false
  const text = result.body.toString('utf8')
  return ids.some(id => text.includes(id)) && /not.{0,10}found|no such|does not exist|expired|deleted/i.test(text)
}
