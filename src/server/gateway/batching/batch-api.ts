import type { BatchProvider } from './connection.ts'

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

/** Batch API of a provider. Rejects with `BatchRefused` for error answers. */
export interface BatchApi {
  /** Returns the provider's id of the new batch. */
  submit(provider: BatchProvider, submission: Submission): Promise<string>
  state(provider: BatchProvider, providerId: string): Promise<ProviderBatchState>
  cancel(provider: BatchProvider, providerId: string): Promise<void>
  results(provider: BatchProvider, providerId: string): AsyncIterable<ProviderResult>
  /** Returns the provider's id of a batch; undefined when it does not exist; `unsure` when that shows later. */
  find(provider: BatchProvider, interrupted: Interrupted): Promise<{ readonly id: string } | 'unsure' | undefined>
}
