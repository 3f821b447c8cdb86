/** Streams of a sink: rows of the usage ledger, and recorded bodies. */
export const sinkStreams = ['calls', 'bodies'] as const
export type SinkStream = (typeof sinkStreams)[number]

/** A line of the export. `id` stays the same when the record is sent again. */
export interface LogRecord {
  readonly id: string
  readonly type: 'call' | 'bodies'
  /** RFC 3339. */
  readonly time: string
  readonly [field: string]: unknown
}

/** Receiver of records. */
export interface LogSink {
  readonly name: string
  /** Resolves once the records are stored. Rejects with SinkFailure. */
  send(records: readonly LogRecord[]): Promise<void>
}

/** Records were not stored. `message` contains no secret and no text of the receiver. */
export class SinkFailure extends Error {
  override readonly name = 'SinkFailure'
  /** True if the receiver rejected the content, so that fewer records at once may be accepted. */
  readonly isRejected: boolean

  constructor(message: string, { isRejected = false }: { readonly isRejected?: boolean } = {}) {
    super(message)
    this.isRejected = isRejected
  }
}
