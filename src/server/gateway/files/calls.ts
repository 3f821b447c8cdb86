import { AppError, invalid } from '../../platform/errors.ts'
import type { Call, Outcome, Sink } from '../core/call.ts'
import { unsentOutcome, withGatewayHeaders } from '../core/endings.ts'
import type { Gateway } from '../gateway.ts'
import type { PartFile } from './file-parts.ts'
import { filledRequest } from './filled-request.ts'
import { fileReferencesIn, mayReferToFiles } from './references.ts'

/** Maximum bytes of a request with the content of its files: the limit of a request that contains them. */
const maxRequestBytes = 32 * 1024 * 1024
const maxFiles = 100

/** The files of callers, as requests need them. */
export interface RequestFiles {
  /** Returns those of the given files that belong to the principal. */
  among(principal: string, ids: readonly string[]): Promise<readonly PartFile[]>
  contentOf(file: PartFile): AsyncIterable<Buffer>
}

interface Deps {
  readonly gateway: Pick<Gateway, 'call' | 'check' | 'batchRequest'>
  readonly files: () => RequestFiles
}

/**
 * Model calls whose requests refer to files of the caller: the gateway gets the request with their content, so that
 * hooks, budgets and translations treat it like any other. Other requests pass unchanged.
 */
export function createFileCalls({ gateway, files }: Deps): Pick<Gateway, 'call' | 'batchRequest'> {
  async function filled(call: Call): Promise<Call> {
    // Before anything is read.
    gateway.check(call)
    const references = fileReferencesIn(call.body)
    if (references.length === 0) return call
    const ids = [...new Set(references.map(({ id }) => id))]
    if (ids.length > maxFiles) throw invalid(`request refers to more than ${maxFiles} files`)
    const found = new Map((await files().among(call.caller.principal, ids)).map(file => [file.id, file]))
    const missing = references.find(({ id }) => !found.has(id))
    if (missing) throw new AppError('not_found', `${missing.path}: file ${missing.id} not found`)
    const fileOf = (id: string): PartFile => {
      const file = found.get(id)
      if (!file) throw new Error(`file ${id} is missing (bug)`)
      return file
    }
    const request = await filledRequest(call.body, {
      references,
      fileOf,
      contentOf: files().contentOf,
      maxBytes: maxRequestBytes,
    })
    return { ...call, body: request.body, files: request }
  }

  async function callWithFiles(given: Call, sink: Sink): Promise<Outcome> {
    let call: Call
    try {
      call = await filled(given)
    } catch (error) {
      throw withGatewayHeaders(error, { 'x-switchyard-request-id': given.requestId })
    }
    return call.signal.aborted ? { ...unsentOutcome, outcome: 'aborted' } : gateway.call(call, sink)
  }

  return {
    call: (call, sink) =>
      mayReferToFiles(call.kind, call.body) && !call.batchAnswer ? callWithFiles(call, sink) : gateway.call(call, sink),
    async batchRequest(given) {
      if (!mayReferToFiles(given.kind, given.body)) return gateway.batchRequest(given)
      const call = await filled(given)
      const request = await gateway.batchRequest(call)
      // The content of the files is not needed again.
      return request?.called === call.body ? { ...request, called: given.body } : request
    },
  }
}
