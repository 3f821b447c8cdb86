import type { Deployment } from '../../config/deployments.ts'
import type { Protocol } from '../../config/protocols.ts'

/** A model at a deployment whose provider has a batch API. */
export interface BatchTarget {
  /** Id of the deployment. */
  readonly deployment: string
  readonly upstream_model: string
}

/** A request for a provider's batch API, and what was reserved for it. */
export interface BatchRequest extends BatchTarget {
  readonly protocol: Protocol
  /** Path of a single call, such as `/v1/messages`. */
  readonly path: string
  /** Without the credential. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** Body of the call after hooks, in the format of the client. */
  readonly called: Buffer
  /** US dollars as an exact decimal; undefined when nothing was reserved. */
  readonly reservedUsd: string | undefined
}

/** Provider with a batch API, as a deployment reaches it. */
export interface BatchProvider {
  readonly deployment: Deployment
  readonly protocol: Protocol
}

/** Requests to submit as one batch of a provider. */
export interface Submission {
  /** Own id of the batch, by which it is found again: the names of its requests begin with it. */
  readonly id: string
  /** Path of the single calls, such as `/v1/messages`. */
  readonly path: string
  readonly requests: readonly SubmittedRequest[]
}

/** A request as a single call would send it. */
export interface SubmittedRequest {
  readonly name: string
  /** Without the credential. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** A batch whose submission was interrupted. */
export interface Interrupted extends Pick<Submission, 'id'> {
  /** Number of its requests. */
  readonly size: number
  readonly submittedAt: Date
  /** True for a batch of the provider that is known to be another one. */
  readonly isOther: (providerId: string) => Promise<boolean>
}

/** `full`: the provider queues no more requests for now. */
export type ProviderBatchState = 'running' | 'ended' | 'failed' | 'full'

/** Answer to one request. `answer` is that of a single call as JSON; undefined for a request without a success. */
export interface ProviderResult {
  readonly name: string
  readonly answer: string | undefined
}

/** Batch API of a provider. Rejects with `BatchRejected` for error answers. */
export interface BatchApi {
  /** Returns the provider's id of the new batch. */
  submit(provider: BatchProvider, submission: Submission): Promise<string>
  state(provider: BatchProvider, providerId: string): Promise<ProviderBatchState>
  cancel(provider: BatchProvider, providerId: string): Promise<void>
  results(provider: BatchProvider, providerId: string): AsyncIterable<ProviderResult>
  /** Returns the provider's id of a batch; undefined when it does not exist; `unsure` when that shows later. */
  find(provider: BatchProvider, interrupted: Interrupted): Promise<{ readonly id: string } | 'unsure' | undefined>
}
