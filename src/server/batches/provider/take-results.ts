import type { BatchApi, BatchProvider, ProviderResult } from '../../gateway/batching/batch-api.ts'
import type { Usage } from '../../usage/usage.ts'
import type { CallLine } from '../line-call.ts'
import type { LineStore } from '../line-store.ts'
import { seqOfName } from './line-names.ts'
import type { ClaimedProviderBatch, ProviderBatchStore, ProviderLine } from './provider-batch-store.ts'

interface Deps {
  readonly store: Pick<ProviderBatchStore, 'linesOf'>
  readonly lines: Pick<LineStore, 'settle'>
  readonly callLine: CallLine
  readonly usage: Pick<Usage, 'flush'>
  readonly api: Pick<BatchApi, 'results'>
}

/** Takes the results of an ended provider batch; false when some could not be settled, and are taken again later. */
export type TakeResults = (
  batch: ClaimedProviderBatch,
  provider: BatchProvider,
  signal: AbortSignal,
) => Promise<boolean>

const groupSize = 50
const groupBytes = 8 * 1024 * 1024

/** Creates the function that settles lines with the answers of their provider, through the gateway like any call. */
export function createTakeResults({ store, lines, callLine, usage, api }: Deps): TakeResults {
  /** Settles lines that have no result yet, so that results can be taken again after a crash. */
  async function settle(batch: ClaimedProviderBatch, answers: ReadonlyMap<number, string>, signal: AbortSignal) {
    const open = await store.linesOf(batch, [...answers.keys()])
    const ended = await Promise.all(
      open.map(async line => {
        const answer = answers.get(line.seq)
        const { request_id: requestId } = line
        if (answer === undefined || requestId === null) return undefined
        const batchAnswer = batchAnswerOf(batch, line, answer)
        const called = { ...line, request: line.prepared ?? line.request }
        const end = await callLine(called, signal, { requestId, batchAnswer })
        return end.kind === 'ended' ? { ...line, ...end.result } : undefined
      }),
    )
    if (signal.aborted) throw new Error('this process stops')
    // Before the results: a request that is settled again after a crash is booked once.
    await usage.flush()
    const results = ended.filter(result => result !== undefined)
    if (results.length > 0) await lines.settle(results)
    return results.length === open.length
  }

  return async (batch, provider, signal) => {
    let isComplete = true
    for await (const group of groupsOf(batch, api.results(provider, batch.provider_id ?? '')))
      if (!(await settle(batch, group, signal))) isComplete = false
    return isComplete
  }
}

const batchAnswerOf = ({ deployment, upstream_model }: ClaimedProviderBatch, line: ProviderLine, answer: string) => ({
  deployment,
  upstreamModel: upstream_model,
  body: Buffer.from(answer),
  reservedUsd: line.reserved_usd ?? '0',
})

/** Yields groups of answers by line. Requests without a success have none: they are called singly. */
async function* groupsOf(
  { id }: ClaimedProviderBatch,
  results: AsyncIterable<ProviderResult>,
): AsyncGenerator<ReadonlyMap<number, string>> {
  let group = new Map<number, string>()
  let bytes = 0
  for await (const { name, answer } of results) {
    const seq = seqOfName(id, name)
    if (seq === undefined || answer === undefined) continue
    group.set(seq, answer)
    bytes += answer.length
    if (group.size < groupSize && bytes < groupBytes) continue
    yield group
    group = new Map()
    bytes = 0
  }
  if (group.size > 0) yield group
}
