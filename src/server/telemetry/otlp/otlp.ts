import { hostname } from 'node:os'
import { apiVersion } from '../../../contract/api.ts'
import type { OtlpSettings } from '../../config/export-settings.ts'
import type { Log, LogStream } from '../../platform/log.ts'
import type { Attributes } from '../../platform/otlp.ts'
import { createOutbound } from '../../platform/outbound.ts'
import { Recent } from '../../platform/recent.ts'
import { createSmallClient } from '../../platform/small-request.ts'
import type { ExportCounts } from '../metrics/metrics.ts'
import { createExportQueue, type ExportQueue, type PostResult } from './export-queue.ts'
import { linesFrame, logsBody } from './log-encoding.ts'
import type { Span } from './span.ts'
import { createSpanEncoder, tracesFrame } from './span-encoding.ts'

/** Export to an OpenTelemetry collector, by OTLP over HTTP: spans as protocol buffers, log records as JSON. */
export interface Otlp {
  readonly settings: OtlpSettings
  /** Queues an ended span. */
  readonly addSpan: (span: Span) => void
  /** Remembers the trace of a request, for its log lines. */
  readonly noteTrace: (requestId: string, traceId: string) => void
  /** Returns a stream that writes to `stream`, and exports the lines if that is configured. */
  readonly tee: (stream: LogStream) => LogStream
  /** Reports problems of the export to `log`, at most once a minute. */
  readonly reportTo: (log: Pick<Log, 'warn'>) => void
  readonly counts: () => readonly ExportCounts[]
  /** Exports what is queued, within a short time. */
  readonly stop: () => Promise<void>
}

const stopMs = 2_000
const requestMs = 10_000
const reportMs = 60_000
/** Requests whose trace is remembered for log lines. */
const maxTraces = 5_000

export function createOtlp(settings: OtlpSettings): Otlp {
  const resource: Attributes = {
    'service.name': 'switchyard',
    'service.version': apiVersion,
    'service.instance.id': `${hostname()}-${process.pid}`,
  }
  const { endpoint, headers } = settings
  const { hostname: host, port, protocol } = new URL(endpoint)
  // The operator names the collector, which is often a private address.
  const outbound = createOutbound({ allow: [`${host}:${port || (protocol === 'https:' ? '443' : '80')}`] })

  // Its connections stay open: at full load there are tens of batches a second.
  const client = createSmallClient(outbound, endpoint)

  async function post(path: string, type: string, body: Buffer): Promise<PostResult> {
    try {
      const { status } = await client.send({
        method: 'POST',
        url: `${endpoint}${path}`,
        headers: { 'content-type': type, ...headers },
        body,
        totalMs: requestMs,
      })
      return { status, problem: undefined }
    } catch (error) {
      return { status: undefined, problem: error instanceof Error ? error.message : String(error) }
    }
  }

  let log: Pick<Log, 'warn'> | undefined
  let reportedAt = Number.NEGATIVE_INFINITY
  const onProblem = (problem: string): void => {
    if (performance.now() - reportedAt < reportMs) return
    reportedAt = performance.now()
    log?.warn({ endpoint, problem }, 'cannot export telemetry')
  }

  const encode = createSpanEncoder()
  const traces = new Recent<string>(maxTraces)
  const spans = createExportQueue({
    frame: tracesFrame(resource),
    post: body => post('/v1/traces', 'application/x-protobuf', body),
    onProblem,
  })
  const lines = settings.exportsLogs
    ? createExportQueue({
        frame: linesFrame,
        post: body =>
          post(
            '/v1/logs',
            'application/json',
            logsBody(resource, body.toString(), id => traces.get(id)),
          ),
        onProblem,
      })
    : undefined

  return {
    settings,
    addSpan: span => spans.add(encode(span)),
    noteTrace(requestId, traceId) {
      if (lines) traces.set(requestId, traceId)
    },
    tee(stream) {
      if (!lines) return stream
      return {
        write(text) {
          stream.write(text)
          for (const line of text.split('\n')) if (line !== '') lines.add(Buffer.from(`${line}\n`))
        },
      }
    },
    reportTo(given) {
      log = given
    },
    counts: () => [countsOf('traces', spans), ...(lines ? [countsOf('logs', lines)] : [])],
    async stop() {
      await Promise.all([spans.stop(stopMs), lines?.stop(stopMs)])
      await client.close()
    },
  }
}

const countsOf = (
  signal: ExportCounts['signal'],
  { exported, droppedByQueue, droppedByCollector }: Omit<ExportQueue, 'add' | 'stop'>,
): ExportCounts => ({ signal, exported, droppedByQueue, droppedByCollector })
