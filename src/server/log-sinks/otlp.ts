import type { LogRecord } from './sink.ts'

/** Names of the OpenTelemetry conventions for generative AI, by our names. */
const conventional: Readonly<Record<string, string>> = {
  model: 'gen_ai.request.model',
  upstream_model: 'gen_ai.response.model',
  provider: 'gen_ai.provider.name',
  input_tokens: 'gen_ai.usage.input_tokens',
  output_tokens: 'gen_ai.usage.output_tokens',
  session_id: 'gen_ai.conversation.id',
  agent_id: 'gen_ai.agent.id',
}

type AnyValue =
  | { readonly stringValue: string }
  | { readonly boolValue: boolean }
  | { readonly intValue: string }
  | { readonly doubleValue: number }

interface Attribute {
  readonly key: string
  readonly value: AnyValue
}

/** Returns an export request of OTLP logs in its JSON encoding. Source: OpenTelemetry protocol, logs. */
export const otlpBody = (records: readonly LogRecord[]) => ({
  resourceLogs: [
    {
      resource: { attributes: [attribute('service.name', 'switchyard')] },
      scopeLogs: [{ scope: { name: 'switchyard' }, logRecords: records.map(logRecord) }],
    },
  ],
})

/** Returns how many records a response rejects; 0 for a response that is not readable. */
export function rejectedBy(text: string): number {
  try {
    const answer = JSON.parse(text) as { partialSuccess?: { rejectedLogRecords?: unknown } } | null
    const count = Number(answer?.partialSuccess?.rejectedLogRecords ?? 0)
    return Number.isFinite(count) ? count : 0
  } catch {
    return 0
  }
}

function logRecord(record: LogRecord) {
  const { id, type, time, ...fields } = record
  const nanoseconds = `${Date.parse(time)}000000`
  const given = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)
  return {
    timeUnixNano: nanoseconds,
    observedTimeUnixNano: nanoseconds,
    ...severityOf(record),
    eventName: `switchyard.${type}`,
    body: { stringValue: textOf(record) },
    attributes: [
      attribute('log.record.uid', id),
      ...given.map(([name, value]) => attribute(conventional[name] ?? `switchyard.${name}`, value)),
    ],
  }
}

function severityOf({ outcome }: LogRecord) {
  if (outcome === 'failed' || outcome === 'lost') return { severityNumber: 17, severityText: 'ERROR' }
  if (outcome === 'aborted') return { severityNumber: 13, severityText: 'WARN' }
  return { severityNumber: 9, severityText: 'INFO' }
}

const textOf = ({ type, outcome, model }: LogRecord): string =>
  type === 'call' ? `model call ${String(outcome)}: ${String(model)}` : `recorded bodies of a call: ${String(model)}`

const attribute = (key: string, value: unknown): Attribute => ({ key, value: anyValue(value) })

function anyValue(value: unknown): AnyValue {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value !== 'number') return { stringValue: JSON.stringify(value) }
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}
